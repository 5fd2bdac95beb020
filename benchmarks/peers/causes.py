"""Why another library is ahead in a row, where we know: {row: cause}. Pages print the causes of rows in which we are
slower; a row that is ahead again may keep its cause for other processors.
"""
HALVES = ("each op of ours rounds its result to 16 bits, so that a fused loop gives the bits of separate calls; XLA "
          "keeps 32 bits between ops that it fuses")
BLOCKS = ("the libraries keep images in blocks of channels from one convolution to the next and join sums of residual "
          "blocks into the convolutions' own loops; our graphs keep them in NHWC, as the file has them")

CAUSES = {
    "log_exp_traced": "XLA takes log(exp(x)) for x, which changes results; ours are those of the ops",
    "gelu_16m_traced_bfloat16": HALVES,
    "gelu_16m_traced_float16": HALVES,
    "while_grad_traced": "a list that the loop fills keeps a value of each step; XLA has one array of a known length",
    "matmul_16_quint8": "ONNX Runtime packs the weights when it loads the model; here they are an input, packed by "
                        "nobody and read as they lie",
    "embedding_bag": "rows are read at random: PyTorch's loop asks for more of them ahead",
    "solve_8": "a small system is factored by calls of LAPACK; PyTorch's matrices lie in columns, as LAPACK has them",
    "top_k_1m": "order is kept among equal values, as TensorFlow's is: ONNX Runtime's heap need not",
    "resnet50_file": BLOCKS,
    "mobilenet_v2_file": BLOCKS,
    "efficientnet_b0_file": BLOCKS,
    "gradient_norms_traced": "torch.compile makes one loop of the norms and the products of outer vectors; ours are a "
                             "product of matrices and a sum",
}
