"""What `./dev bench peers` measures: sections of rows."""
import collections

# `work`, `mode` and `inputs` are what a contestant is asked for (contestant.h says how inputs are written). `per`: a
# run's time is divided by it. `tolerance`: how far outputs may differ (race.difference); `changes`: by how much
# parameters may that were trained. Inputs are of both signs, so that not even sums are alike.
Row = collections.namedtuple("Row", "name what work mode inputs per tolerance changes", defaults=(1, 1e-6, None))

SMALL = "8x8:-1:1 8x8:-1:1"
CHAIN = "8x8:-1:1 8x8:0.99:1.01"  # 100 multiplications stay finite
HESSIAN = "8x8:-1:1 8x8:0.5:1.5 8x8:0.5:1.5 8x8:-1:1"
LARGE = "16777216:-1:1"
WIDE = "4096x4096:-1:1"
LARGE_3, WIDE_3 = (f"{dims}:-3:3" for dims in ("16777216", "4096x4096"))


def glorot(rows, columns):
    """Weights, in Glorot's bounds, and a bias."""
    bound = round((6 / (rows + columns)) ** 0.5, 6)
    return f"{rows}x{columns}:-{bound}:{bound} {columns}:-0.1:0.1"


def kernel(size, channels, features, layout="hwio"):
    bound = round((6 / (size * size * (channels + features))) ** 0.5, 6)
    return f"{size}x{size}x{channels}x{features}:-{bound}:{bound}:{layout}"


def filters(size, channels, features):
    return f"{kernel(size, channels, features)} {features}:-0.1:0.1"


def convolution(side, channels, size, features, layout="nhwc"):
    """Four images, a filter, and the gradient by what the convolution gives."""
    def images(channels):
        shape = (4, side, side, channels) if layout == "nhwc" else (4, channels, side, side)
        return "x".join(map(str, shape)) + f":-1:1:{layout}"
    weights = kernel(size, channels, features, "hwio" if layout == "nhwc" else "hwio_nchw")
    return f"{images(channels)} {weights} {images(features)}"


NORM = "256:0.9:1.1 256:-0.1:0.1"
MLP = " ".join(["64x784:-1:1 64:class:10", glorot(784, 512), glorot(512, 256), glorot(256, 10)])
CNN = " ".join(["64x28x28x1:-1:1:nhwc 64:class:10", filters(5, 1, 32), filters(5, 32, 64), glorot(3136, 10)])
JACOBIAN = f"64:-1:1 {glorot(64, 64)} {glorot(64, 64)}"
LINEAR = f"200x784:-1:1 200:class:10 {glorot(784, 10)}"
LSTM = " ".join(["16x64x256:-1:1 64:class:10", glorot(512, 1024), glorot(256, 10)])
TRANSFORMER = " ".join(["1024x256:-1:1 1024:class:256", NORM, glorot(256, 768), glorot(256, 256), NORM,
                        glorot(256, 1024), glorot(1024, 256)])

# Four blocks for texts of up to 128 tokens, of 1024 words; in training eight such texts.
GPT2_PARAMETERS = " ".join([
    "1024x128:-0.05:0.05 128x128:-0.05:0.05",
    *4 * ["128:0.9:1.1 128:-0.1:0.1", glorot(128, 384), glorot(128, 128), "128:0.9:1.1 128:-0.1:0.1", glorot(128, 512),
          glorot(512, 128)],
    "128:0.9:1.1 128:-0.1:0.1"])
GPT2 = f"1024:class:1024 1024:class:1024 {GPT2_PARAMETERS}"

CONVOLUTIONS = [("conv_256", 256, 3, 3, 8), ("conv_56", 56, 64, 3, 64), ("conv_28", 28, 128, 3, 128),
                ("conv_14", 14, 1024, 1, 256)]


def convolution_rows():
    for name, side, channels, size, features in CONVOLUTIONS:
        what = f"{side}x{side}x{channels}, {size}x{size} to {features}"
        shape = (side, channels, size, features)
        yield Row(name, what, "conv", "eager", convolution(*shape), 1, 6e-5)
        yield Row(f"{name}_traced", "the same, traced", "conv", "traced", convolution(*shape), 1, 6e-5)
        if channels >= 16:  # layers of a network, of which some are trained with channels first
            yield Row(f"{name}_nchw", "the same, NCHW", "conv_nchw", "eager", convolution(*shape, "nchw"), 1, 6e-5)


# For a network of L2HMC with ten hidden units: of its first layer, then as the contestants read them.
HALF = " ".join(["2x10:-0.7:0.7 2x10:-0.7:0.7 2x10:-0.7:0.7 10:-0.1:0.1", glorot(10, 10), glorot(10, 2), "2:-0.1:0.1",
                 glorot(10, 2), glorot(10, 2), "2:-0.1:0.1"])
L2HMC = f"200x2:-1:1 200x2:-1:1 1:-2.3:-2.3 {HALF} {HALF}"


def resnet(blocks, classes, width=64, side=65, batch=4):
    """Bottlenecks in stages, each with twice the width of the one before. Of a side of 65 all halves are rounded up, so
    that all libraries pad evenly. Bottlenecks count for little at first, as it is done in practice: otherwise rounding
    alone decides the second step's loss."""
    def unit(size, channels, features, scale="0.9:1.1"):
        return f"{kernel(size, channels, features)} {features}:{scale} {features}:-0.1:0.1"
    parts, channels = [f"{batch}x{side}x{side}x3:-1:1:nhwc {batch}:class:{classes}", unit(7, 3, width)], width
    for stage, count in enumerate(blocks):
        inner = width << stage
        for block in range(count):
            parts += [unit(1, channels, inner), unit(3, inner, inner), unit(1, inner, 4 * inner, "0:0.2")]
            parts += [unit(1, channels, 4 * inner)] if block == 0 else []
            channels = 4 * inner
    return " ".join([*parts, glorot(channels, classes)])


RESNET = [3, 4, 6, 3], 1000  # ResNet-50
RESNET_CLOSE = 1e-3, 0.1  # rounding errors grow in it


def resnet_rows(suffix, images, batch):
    inputs = resnet(*RESNET, batch=batch)
    train, infer = f"resnet{suffix}", f"resnet_inference{suffix}"
    yield Row(train, f"ResNet-50, {images} of 65x65: training step", "resnet", "train", inputs, 1, *RESNET_CLOSE)
    yield Row(f"{train}_traced", "the same, traced", "resnet", "traced_train", inputs, 1, *RESNET_CLOSE)
    yield Row(infer, f"ResNet-50, {images} of 65x65: inference", "resnet_inference", "eager", inputs, 1, 1e-4)
    yield Row(f"{infer}_traced", "the same, traced, weights as constants", "resnet_inference", "traced", inputs, 1,
              1e-4)


# Networks as files; networks.py makes them.
FILES = [("resnet50", "ResNet-50, one image of 224x224"), ("mobilenet_v2", "MobileNetV2, the same"),
         ("efficientnet_b0", "EfficientNet-B0, the same"), ("bert_base", "the encoder of BERT-base, 128 tokens")]


def file_rows():
    for work, what in FILES:
        inputs = "1x128:class:30522" if work == "bert_base" else "1x224x224x3:-1:1"
        # EfficientNet takes bytes: it divides by 255 first.
        inputs = "1x224x224x3:0:255" if work == "efficientnet_b0" else inputs
        yield Row(f"{work}_file", what, work, "file", inputs, 1, 1e-3)


# Width and depth of graphs in the shapes of TensorFlow's benchmark of its executor, and how many nodes they have.
def graph_row(name, what, work, width, depth):
    nodes = width + width * depth + 1
    return Row(name, f"{what}: a node", work, "session", f"{width}x{depth}:-1:1", nodes)


def narrow(inputs, dtype):
    """The same inputs in another type."""
    return " ".join(f"{text}{(4 - text.count(':')) * ':'}{dtype}" for text in inputs.split())


# A library may round after each op or once, sums to float32 or not.
CLOSE = {"bfloat16": 8e-3, "float16": 1e-3, "quint8": 1e-6}


def narrow_row(dtype, name, what, work, inputs, tolerance, mode="eager"):
    return Row(f"{name}_{dtype}", f"{what}, {dtype}", work, mode, narrow(inputs, dtype), 1, tolerance)


def narrow_products(dtype, what="MatMul", work="matmul", bounds="-1:1"):
    for m, k, n in ((1024, 1024, 1024), (16, 768, 768), (1, 4096, 4096)):
        yield narrow_row(dtype, f"matmul_{m}", f"{what}, {m}x{k} by {k}x{n}", work, f"{m}x{k}:{bounds} {k}x{n}:{bounds}",
                         CLOSE[dtype])


def narrow_rows():
    for dtype in ("bfloat16", "float16"):
        def row(*what, times=4, dtype=dtype, **more):
            return narrow_row(dtype, *what, times * CLOSE[dtype], **more)
        if dtype == "float16":  # those of bfloat16 are among the large tensors
            yield from narrow_products(dtype)
        yield row("add_16m", "add, 16 M", "add", f"{LARGE} {LARGE}", times=1)
        yield row("gelu_16m_traced", "GELU written with erf, 16 M, traced", "gelu", LARGE_3, mode="traced")
        yield row("rows_4096", "sums of rows, 4096x4096", "rows", WIDE)
        yield row("softmax_4096", "softmax of rows, 4096x4096", "softmax", WIDE_3)
        yield row("layer_norm_4096", "layer norm of rows, 4096x4096", "layer_norm", f"{WIDE} 4096:-1:1 4096:-1:1")
        yield row("conv_56", "convolution 3x3 of 4x56x56x64 to 64, and both gradients", "conv", convolution(56, 64, 3, 64))
        yield row("conv_14", "convolution 1x1 of 4x14x14x1024 to 256, and both gradients", "conv",
                  convolution(14, 1024, 1, 256))
    yield from narrow_products("quint8", "MatMul into int32", "quantized_matmul", "0:128")


def frozen_as_well(row):
    yield row
    yield row._replace(name=f"{row.name}_frozen", what="the same, weights as constants", mode="frozen")


def layer_rows():
    depthwise = [("112", 1, 112, 32, 3), ("14", 4, 14, 576, 3), ("28_5", 1, 28, 240, 5)]
    for name, batch, side, channels, size in depthwise:
        yield from frozen_as_well(Row(
            f"depthwise_{name}", f"depthwise convolution {size}x{size}, {batch}x{side}x{side}x{channels}", "depthwise",
            "eager", f"{batch}x{side}x{side}x{channels}:-1:1:nhwc {size}x{size}x{channels}x1:-1:1:depthwise", 1, 1e-5))
    yield from frozen_as_well(Row("grouped_56", "convolution 3x3 of 32 groups, 4x56x56x128", "grouped", "eager",
                                  "4x56x56x128:-1:1:nhwc 3x3x4x128:-1:1:hwio", 1, 1e-5))
    yield from frozen_as_well(Row("conv3d_28", "convolution 3x3x3, 1x8x28x28x64 to 64", "conv3d", "eager",
                                  "1x8x28x28x64:-1:1:ndhwc 3x3x3x64x64:-0.1:0.1:dhwio", 1, 1e-5))
    yield Row("max_pool_113", "max pool 3x3 by 2, 8x113x113x64", "max_pool", "eager", "8x113x113x64:-1:1:nhwc")
    yield Row("avg_pool_112", "average pool 2x2 by 2, 8x112x112x64", "avg_pool", "eager", "8x112x112x64:-1:1:nhwc")
    yield Row("resize_128", "resize to twice the size, bilinear, 4x128x128x32", "resize", "eager",
              "4x128x128x32:-1:1:nhwc", 1, 1e-5)
    yield Row("resize_512", "the same, 1x512x512x3", "resize", "eager", "1x512x512x3:-1:1:nhwc", 1, 1e-5)
    norm = "8x56x56x64:-1:1:nhwc 64:0.9:1.1 64:-0.1:0.1 64:-0.1:0.1 64:0.9:1.1"
    yield Row("batch_norm_56", "batch norm, 8x56x56x64", "batch_norm", "eager", norm, 1, 1e-5)
    yield Row("batch_norm_56_training", "the same, of the batch's moments", "batch_norm_training", "eager", norm, 1, 5e-5)


ORDERS = [
    Row("sort_1m", "sort, 1 M", "sort", "eager", "1000000:-1:1"),
    Row("sort_rows", "sort of rows, 1024x1024", "sort", "eager", "1024x1024:-1:1"),
    Row("top_k_1m", "the 100 largest of 1 M", "top_k", "eager", "1000000:-1:1"),
    Row("top_k_rows", "the 100 largest of each row, 1024x1024", "top_k", "eager", "1024x1024:-1:1"),
    Row("cumsum_1m", "running sum, 1 M", "cumsum", "eager", "1000000:-1:1", 1, 1e-4),
    Row("cumsum_rows", "running sums of rows, 4096x1024", "cumsum", "eager", "4096x1024:-1:1", 1, 1e-4),
    Row("gather_1m", "1 M rows of 16 out of 100,000", "gather", "eager", "100000x16:-1:1 1000000:class:100000"),
    Row("scatter_add_1m", "1 M rows of 16 added to 100,000", "scatter_add", "eager",
        "100000x16:-1:1 1000000:class:100000 1000000x16:-1:1", 1, 1e-5),
    Row("segment_sum_1m", "sums of 1 M rows of 16 by segment, in any order", "segment_sum", "eager",
        "1000000x16:-1:1 1000000:class:100000", 1, 1e-5),
    Row("embedding_bag", "embedding bags: 16,384 sums of 32 rows of 64", "embedding_bag", "eager",
        "100000x64:-1:1 524288:class:100000 524288:class:16384:sorted", 1, 1e-5),
    Row("unique_1m", "different ones of 1 M integers below 100,000", "unique", "eager", "1000000:class:100000"),
    Row("one_hot", "one-hot, 65,536 of 256", "one_hot", "eager", "65536:class:256"),
    Row("where_16m", "elements of one tensor or another, 16 M", "where", "eager",
        "16777216:class:2:bool 16777216:-1:1 16777216:-1:1"),
    Row("nonzero_4m", "positions of what is true, 4 M", "nonzero", "eager", "4194304:class:2:bool"),
    Row("normal_16m", "random normal numbers, 16 M", "normal", "eager", LARGE, 1, 2e-2),
]

ALGEBRA = [
    Row("fft_1m", "FFT, 2^20", "fft", "eager", "1048576x2:-1:1:complex", 1, 1e-5),
    Row("rfft_1m", "FFT of real numbers, 2^20", "rfft", "eager", "1048576:-1:1", 1, 1e-5),
    Row("fft_rows", "FFTs of rows, 1024x1024", "fft", "eager", "1024x1024x2:-1:1:complex", 1, 1e-5),
    Row("fft2_1024", "FFT in two dimensions, 1024x1024", "fft2", "eager", "1024x1024x2:-1:1:complex", 1, 1e-5),
    Row("cholesky_512", "Cholesky, 512x512", "cholesky", "eager", "512x512:-1:1:definite", 1, 1e-5),
    Row("qr_512", "QR, 512x512", "qr", "eager", "512x512:-1:1", 1, 1e-2),
    Row("svd_512", "SVD, 512x512", "svd", "eager", "512x512:-1:1", 1, 1e-2),
    Row("eigh_512", "eigenvectors of a symmetric matrix, 512x512", "eigh", "eager", "512x512:-1:1:symmetric", 1, 1e-2),
    Row("solve_512", "solution of linear equations, 512x512, for 64 vectors", "solve", "eager",
        "512x512:-1:1:definite 512x64:-1:1", 1, 1e-4),
    Row("solve_8", "solutions of 10,000 linear equations, 8x8", "solve", "eager",
        "10000x8x8:-1:1:definite 10000x8x1:-1:1", 1, 1e-4),
    Row("cholesky_8", "Cholesky, 10,000 of 8x8", "cholesky", "eager", "10000x8x8:-1:1:definite", 1, 1e-5),
    Row("sparse_dense", "a matrix 4096x4096 with one element in a hundred, by one of 128 columns", "sparse_dense", "eager",
        "167772:class:4096:entries 167772:-1:1 4096x128:-1:1", 1, 1e-4),
]

TEXTS = [
    Row("hash_1m", "hash numbers of 1 M short strings (FarmHash)", "hash", "eager", "1000000:class:1000000:text"),
    Row("strong_hash_1m", "the same with a key (SipHash)", "strong_hash", "eager", "1000000:class:1000000:text"),
    Row("regex_1m", "numbers in 1 M short strings replaced, by a regular expression", "regex", "eager",
        "1000000:class:1000000:text"),
]

SECTIONS = [
    ("Calls on small tensors", [
        Row("add_8x8", "add, 8x8", "add", "eager", SMALL),
        Row("mul_8x8", "multiply, 8x8", "mul", "eager", SMALL),
        Row("matmul_8x8", "MatMul, 8x8", "matmul", "eager", SMALL),
        Row("view_8x8", "reshape, 8x8", "view", "eager", "8x8:-1:1"),
        Row("add_8x8_taped", "add, 8x8, recorded for a gradient", "add", "taped", SMALL),
        Row("add_8x8_grad", "add, 8x8, and its gradient", "add", "grad", SMALL),
        Row("mul_8x8_grad", "multiply, 8x8, and its gradient", "mul", "grad", SMALL),
        Row("matmul_8x8_grad", "MatMul, 8x8, and its gradient", "matmul", "grad", SMALL),
        Row("hessian", "Hessian of sum(tanh(x w) u) by a vector, 8x8", "hessian", "eager", HESSIAN),
        Row("chain", "chain of 100 multiplications, 8x8: an op", "chain", "eager", CHAIN, 100),
        Row("chain_grad", "the chain and its gradient: an op", "chain", "grad", CHAIN, 100),
    ]),
    ("Traced functions of small tensors", [
        Row("add_8x8_traced", "add, 8x8: a call", "add", "traced", SMALL),
        Row("matmul_8x8_traced", "MatMul, 8x8: a call", "matmul", "traced", SMALL),
        Row("captured_traced", "product of an argument and ten variables, 8x8: a call", "product", "captured",
            "8x8:-1:1" + 10 * " 8x8:-1.5:1.5"),
        Row("hessian_traced", "Hessian of sum(tanh(x w) u) by a vector, 8x8: a call", "hessian", "traced", HESSIAN),
        Row("chain_traced", "chain of 100 multiplications: a call", "chain", "traced", CHAIN),
        Row("chain_grad_traced", "the chain and its gradient: a call", "chain", "traced_grad", CHAIN),
        Row("chain_cold", "tracing the chain, and the first call", "chain", "cold", CHAIN),
    ]),
    ("Loops in traced functions", [
        Row("while_traced", "loop of 100,000 steps, one element: a step", "fall", "traced", "1:0.5:1.5", 100000, 1e-3),
        Row("while_grad_traced", "the loop and its gradient: a step", "fall", "traced_grad", "1:0.5:1.5", 100000, 1e-3),
    ]),
    ("Graphs in a session, not optimized", [
        graph_row("chain_deep", "Neg of a scalar, 10000 in a chain", "chains", 1, 10000),
        graph_row("chains_wide", "Neg of scalars, 1000 chains of 10", "chains", 1000, 10),
        graph_row("sums_wide", "AddN of 64 scalars, 16 layers of 64", "sums", 64, 16),
    ]),
    ("Large tensors", [
        Row("add_16m", "add, 16 M", "add", "eager", f"{LARGE} {LARGE}"),
        Row("exp_16m", "exp, 16 M", "exp", "eager", LARGE),
        Row("tanh_16m", "tanh, 16 M", "tanh", "eager", LARGE_3),
        Row("gelu_16m", "GELU written with erf, 16 M", "gelu", "eager", LARGE_3),
        Row("gelu_16m_traced", "the same, traced", "gelu", "traced", LARGE_3),
        Row("log_exp", "20 times log(exp(x)), 200x1000, and its gradient", "log_exp", "grad", "200x1000:-1:1", 1, 1e-5),
        Row("log_exp_traced", "the same, traced (XLA takes log(exp(x)) for x)", "log_exp", "traced_grad",
            "200x1000:-1:1", 1, 1e-5),
        Row("sum_16m", "sum, 16 M", "sum", "eager", "16777216:-0.5:1", 1, 5e-5),
        Row("rows_4096", "sums of rows, 4096x4096", "rows", "eager", WIDE, 1, 2e-5),
        Row("columns_4096", "sums of columns, 4096x4096", "columns", "eager", WIDE, 1, 2e-5),
        Row("bias_4096", "bias add, 4096x4096", "bias_add", "eager", f"{WIDE} 4096:-1:1"),
        Row("add_transposed", "add, 1024x4096, one of them transposed", "add_transposed", "eager",
            "1024x4096:-1:1 4096x1024:-1:1"),
        Row("transpose_4096", "transpose, 4096x4096", "transpose", "eager", WIDE),
        Row("softmax_4096", "softmax of rows, 4096x4096", "softmax", "eager", WIDE_3, 1, 1e-5),
        Row("softmax_512", "softmax of rows, 512x1024", "softmax", "eager", "512x1024:-3:3", 1, 1e-5),
        Row("layer_norm_4096", "layer norm of rows, 4096x4096", "layer_norm", "eager",
            f"{WIDE} 4096:-1:1 4096:-1:1", 1, 1e-5),
        Row("layer_norm_4096_traced", "the same, traced", "layer_norm", "traced",
            f"{WIDE} 4096:-1:1 4096:-1:1", 1, 1e-5),
        Row("matmul_256", "MatMul, 256x256", "matmul", "eager", "256x256:-1:1 256x256:-1:1", 1, 2e-5),
        Row("matmul_1024", "MatMul, 1024x1024", "matmul", "eager", "1024x1024:-1:1 1024x1024:-1:1", 1, 2e-5),
        Row("matmul_2048", "MatMul, 2048x2048", "matmul", "eager", "2048x2048:-1:1 2048x2048:-1:1", 1, 2e-5),
        Row("matmul_16", "MatMul, 16x768 by 768x768", "matmul", "eager", "16x768:-1:1 768x768:-1:1", 1, 2e-5),
        Row("matmul_1", "MatMul, 1x4096 by 4096x4096", "matmul", "eager", "1x4096:-1:1 4096x4096:-1:1", 1, 2e-5),
        Row("matmul_8", "MatMul, 8x4096 by 4096x4096", "matmul", "eager", "8x4096:-1:1 4096x4096:-1:1", 1, 2e-5),
        Row("matmul_512", "MatMul, 512x8192 by 8192x512", "matmul", "eager", "512x8192:-1:1 8192x512:-1:1", 1, 2e-5),
        Row("matmul_64", "MatMul, 64x1024 by 1024x4096", "matmul", "eager", "64x1024:-1:1 1024x4096:-1:1", 1, 2e-5),
        *narrow_products("bfloat16"),
    ]),
    ("Numbers of 16 and 8 bits", list(narrow_rows())),
    ("Convolutions of four images, and both gradients", list(convolution_rows())),
    ("Layers of networks", list(layer_rows())),
    ("Orders, indices and random numbers", ORDERS),
    ("Fourier transforms and linear algebra", ALGEBRA),
    ("Texts", TEXTS),
    ("Networks in files: frozen graphs of Keras", list(file_rows())),
    ("Transforms", [
        # MLX adds up the 401,408 squares of a matrix one by one: its sums are off by 7e-5.
        Row("gradient_norms", "dense 784-512-256-10, batch 64: norms of the gradients by example", "gradient_norms", "eager",
            MLP, 1, 1e-4),
        Row("gradient_norms_traced", "the same, traced", "gradient_norms", "traced", MLP, 1, 1e-4),
        Row("jacobian_64", "Jacobian of a network 64-64-64", "jacobian", "eager", JACOBIAN, 1, 1e-5),
        Row("jacobian_64_traced", "the same, traced", "jacobian", "traced", JACOBIAN, 1, 1e-5),
        Row("hessian_32", "Hessian of sum(tanh(x w) u), 32x32", "hessian_matrix", "eager", "32:-1:1 32x32:-0.5:0.5 32:-1:1",
            1, 1e-5),
        Row("hessian_32_traced", "the same, traced", "hessian_matrix", "traced", "32:-1:1 32x32:-0.5:0.5 32:-1:1", 1, 1e-5),
    ]),
    ("Data, one thread", [
        Row("map_batch", "20,000 rows of 8, each doubled, in batches of 128: a row", "map_batch", "pipeline",
            "20000x8:-1:1", 20000),
    ]),
    ("Networks", [
        Row("linear", "softmax regression 784-10, batch 200: training step", "mlp", "train", LINEAR, 1, 5e-6, 5e-3),
        Row("linear_traced", "the same, traced", "mlp", "traced_train", LINEAR, 1, 5e-6, 5e-3),
        Row("mlp", "dense 784-512-256-10, batch 64: training step", "mlp", "train", MLP, 1, 5e-6, 5e-3),
        Row("mlp_traced", "the same, traced", "mlp", "traced_train", MLP, 1, 5e-6, 5e-3),
        # On a GPU cuDNN's changes are as far as 0.0069 from what all libraries have on a CPU; ours are not.
        Row("cnn", "convolutions 5x5x32 and 5x5x64, 28x28, batch 64: training step", "cnn", "train", CNN, 1, 5e-6, 1e-2),
        Row("cnn_traced", "the same, traced", "cnn", "traced_train", CNN, 1, 5e-6, 1e-2),
        Row("lstm", "LSTM of 256, 16 steps, batch 64: training step", "lstm", "train", LSTM, 1, 5e-6, 5e-3),
        Row("lstm_traced", "the same, traced", "lstm", "traced_train", LSTM, 1, 5e-6, 5e-3),
        Row("transformer", "transformer block 256, 8 x 128 tokens: training step", "transformer", "train", TRANSFORMER, 1,
            5e-6, 5e-3),
        Row("transformer_traced", "the same, traced", "transformer", "traced_train", TRANSFORMER, 1, 5e-6, 5e-3),
        Row("gpt2", "GPT-2 of 4 blocks of 128, 8 x 128 tokens: training step", "gpt2", "train", GPT2, 1, 5e-6, 5e-3),
        Row("gpt2_traced", "the same, traced", "gpt2", "traced_train", GPT2, 1, 5e-6, 5e-3),
        Row("gpt2_writing", "the same network writes 128 tokens, with cached keys: a token", "gpt2_writing", "eager",
            f"1:class:1024 {GPT2_PARAMETERS}", 128, 1e-3),
        Row("l2hmc", "L2HMC in two dimensions, 10 steps forward, 200 samples: training step", "l2hmc", "train", L2HMC, 1,
            3e-5, 5e-3),
        Row("l2hmc_traced", "the same, traced", "l2hmc", "traced_train", L2HMC, 1, 3e-5, 5e-3),
        *resnet_rows("", "four images", 4),
        *resnet_rows("_1", "one image", 1),
    ]),
]
ROWS = {row.name: row for _, rows in SECTIONS for row in rows}
ALL_LARGE = {row.name for title, rows in SECTIONS for row in rows if title == "Large tensors"}
# Of these our traced function is timed as well, in a column of its own: it must not be slower.
LARGE = {name for name in ALL_LARGE if ROWS[name].mode == "eager"}
# What is done on a GPU.
GPU = ["add_8x8", "matmul_8x8", "view_8x8", "chain", "chain_grad", "hessian", "add_8x8_traced", "captured_traced",
       "chain_traced", "chain_grad_traced", "add_16m", "exp_16m", "gelu_16m", "gelu_16m_traced", "sum_16m", "rows_4096",
       "columns_4096", "bias_4096", "add_transposed", "transpose_4096", "softmax_4096", "softmax_512", "layer_norm_4096",
       "layer_norm_4096_traced", "matmul_256", "matmul_1024", "matmul_2048", "matmul_512", "conv_56", "conv_28",
       "conv_28_nchw", "conv_14", "mlp", "mlp_traced", "cnn", "cnn_traced", "lstm", "lstm_traced", "transformer",
       "transformer_traced", "gpt2", "gpt2_traced"]
