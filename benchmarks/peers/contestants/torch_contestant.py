"""PyTorch's contestant in Python: with the argument `gpu` eager calls there, and the same compiled; otherwise, with the
number of threads, compiled functions and pipelines of data (eager calls are made from C++: torch.cc)."""
import math
import sys

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as functional

import contestant

GPU = "gpu" in sys.argv
DEVICE = "cuda" if GPU else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False  # products of float32, as ours
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True  # it tries its ways of doing a convolution, and takes the fastest


def host(result):
    if isinstance(result, (list, tuple)):
        return [host(r) for r in result]
    result = result.detach().cpu()
    return (result.float() if result.dtype == torch.bfloat16 else result).numpy()


def tensor(array, form=""):
    """Images and filters in PyTorch's order of dimensions; where channels are last, they stay so in memory."""
    half = array.dtype == ml_dtypes.bfloat16
    t = (torch.from_numpy(array.astype(np.float32)).bfloat16() if half else torch.from_numpy(array)).to(DEVICE)
    if form == "nhwc":
        return t.permute(0, 3, 1, 2)
    if form in ("hwio", "hwio_nchw"):
        last = torch.channels_last if form == "hwio" else torch.contiguous_format
        return t.permute(3, 2, 0, 1).contiguous(memory_format=last)
    return t


def as_given(t):
    """A filter with its dimensions in the order in which it came."""
    return t.permute(2, 3, 1, 0) if t.dim() == 4 else t


def wait(_):
    if GPU:
        torch.cuda.synchronize()


def compiled(f):
    return torch.compile(f, fullgraph=True, dynamic=False, mode="reduce-overhead" if GPU else None)


def conv(layout, vjp):
    """The convolution, and its gradients by x and the kernel, for the gradient `seed` by what it gave. `vjp`: as a
    function that compiles has them."""
    def images(x):
        return x.permute(0, 2, 3, 1) if layout == "NHWC" else x

    def forward(x, kernel):
        return functional.conv2d(x, kernel, padding=kernel.shape[2] // 2)

    def of(x, kernel, seed):
        if vjp:
            y, back = torch.func.vjp(forward, x, kernel)
            by_x, by_kernel = back(seed)
        else:
            x, kernel = x.detach().requires_grad_(), kernel.detach().requires_grad_()
            y = forward(x, kernel)
            by_x, by_kernel = torch.autograd.grad(y, (x, kernel), seed)
        return [images(y), images(by_x), as_given(by_kernel)]
    return of


def layer_norm(x, scale, offset):
    return functional.layer_norm(x, (x.shape[-1],), scale, offset)


def mlp(x, labels, *layers):
    for i in range(0, len(layers), 2):
        x = torch.addmm(layers[i + 1], x, layers[i])
        x = torch.relu(x) if i + 2 < len(layers) else x
    return functional.cross_entropy(x, labels)


def cnn(x, labels, *p):
    """x [batch, channels, height, width]; two convolutions, each with a pool, and a dense layer."""
    for i in (0, 2):
        x = torch.relu(functional.conv2d(x, p[i], p[i + 1], padding="same"))
        x = functional.max_pool2d(x, 2)
    x = x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)
    return functional.cross_entropy(torch.addmm(p[5], x, p[4]), labels)


def lstm(x, labels, kernel, bias, weights, offset):
    """x [steps, batch, inputs]; of the cell [inputs + state, 4 state], then of a dense layer on the last state."""
    h = c = torch.zeros(x.shape[1], kernel.shape[1] // 4, device=x.device)
    for step in x.unbind():
        i, f, g, o = torch.addmm(bias, torch.cat([step, h], 1), kernel).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return functional.cross_entropy(torch.addmm(offset, h, weights), labels)


def block(x, p, causal=False):
    """x [tokens of 8 texts, width]; attention with four heads, then two dense layers, each after a layer norm. `causal`:
    a token hears of none that comes after it."""
    tokens, width = x.shape
    projected = torch.addmm(p[3], layer_norm(x, p[0], p[1]), p[2])
    q, k, v = projected.reshape(8, tokens // 8, 3, 4, width // 4).permute(2, 0, 3, 1, 4).unbind()
    mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    x = x + torch.addmm(p[5], mixed.transpose(1, 2).reshape(tokens, width), p[4])
    h = functional.gelu(torch.addmm(p[9], layer_norm(x, p[6], p[7]), p[8]))
    return x + torch.addmm(p[11], h, p[10])


def transformer(x, labels, *p):
    return functional.cross_entropy(block(x, p), labels)


def gpt2(tokens, labels, words, positions, *p):
    """Of GPT-2 (Radford and others 2019). Tokens of 8 texts, one after the other, and those that follow; a vector for each
    word and for each position, blocks of 12 parameters, and a layer norm. The words' vectors are also the last layer's
    weights."""
    x = (words[tokens].reshape(-1, *positions.shape) + positions).reshape(len(tokens), -1)
    for at in range(0, len(p) - 2, 12):
        x = block(x, p[at:], causal=True)
    return functional.cross_entropy(layer_norm(x, *p[-2:]) @ words.t(), labels)


def hessian_by_vector(x, w, u, v):
    """The matrix of second derivatives of sum(tanh(x w) u), by v."""
    x = x.detach().requires_grad_()
    first = torch.autograd.grad(torch.sum(torch.tanh(x * w) * u), x, create_graph=True)[0]
    return torch.autograd.grad(first, x, v)[0]


def gradient_norms(x, labels, *parameters):
    """The squared length of the gradient that each example alone gives."""
    def norm(x, label):
        gradients = torch.func.grad(lambda p: mlp(x[None], label[None], *p))(parameters)
        return sum((g * g).sum() for g in gradients)
    return torch.func.vmap(norm)(x, labels)


def jacobian(x, w, b, v, c):
    return torch.func.jacrev(lambda x: torch.tanh(x @ w + b) @ v + c)(x)


def hessian_matrix(x, w, u):
    return torch.func.hessian(lambda x: torch.sum(torch.tanh(x @ w) * u))(x)


def compilable_hessian(x, w, u, v):
    first = torch.func.grad(lambda x: torch.sum(torch.tanh(x * w) * u))
    return torch.func.vjp(first, x)[1](v)[0]


def resnet(x, state, p, training):
    """A residual network of bottlenecks, with the step in the 3x3 convolution. p: for each convolution its kernel and its
    norm's scale and offset; at the end a dense layer's weights and bias. First comes a convolution with a pool, then
    bottlenecks of three convolutions, four where the number of channels changes. From there on, but for the first one,
    the images are halved. Gives what it says of the images, and the running statistics as they are then."""
    at, new_state = 0, []

    def convolve(x, stride):
        nonlocal at
        kernel, scale, offset, (mean, variance) = *p[at:at + 3], state[at // 3]
        at += 3
        y = functional.conv2d(x, kernel, stride=stride, padding=kernel.shape[2] // 2)
        if not training:
            return functional.batch_norm(y, mean, variance, scale, offset, eps=1e-3)
        new_variance, new_mean = torch.var_mean(y.detach(), (0, 2, 3))
        new_state.append((0.99 * mean + 0.01 * new_mean, 0.99 * variance + 0.01 * new_variance))
        return functional.batch_norm(y, None, None, scale, offset, training=True, eps=1e-3)

    x = functional.max_pool2d(torch.relu(convolve(x, 2)), 3, 2, 1)
    while at < len(p) - 2:
        changes = p[at].shape[1] != p[at + 6].shape[0]
        stride = 2 if changes and at > 3 else 1
        y = convolve(torch.relu(convolve(torch.relu(convolve(x, 1)), stride)), 1)
        x = torch.relu(y + (convolve(x, stride) if changes else x))
    return torch.addmm(p[at + 1], x.mean((2, 3)), p[at]), new_state


def resnet_state(parameters):
    return [(torch.zeros_like(scale), torch.ones_like(scale)) for scale in parameters[1:-2:3]]


def resnet_for_inference(parameters):
    """Of the images."""
    state = resnet_state(parameters)
    return lambda x: resnet(x, state, parameters, training=False)[0]


WORKS = {
    "add": torch.add,
    "mul": torch.mul,
    "matmul": torch.matmul,
    "chain": contestant.chain,
    "product": contestant.product,
    "view": lambda x: x.reshape(-1),
    "hessian": hessian_by_vector,
    "gradient_norms": gradient_norms,
    "jacobian": jacobian,
    "hessian_matrix": hessian_matrix,
    "log_exp": contestant.log_exp(torch.log, torch.exp),
    "conv": conv("NHWC", False),
    "conv_nchw": conv("NCHW", False),
    "exp": torch.exp,
    "tanh": torch.tanh,
    "gelu": lambda x: 0.5 * x * (1.0 + torch.erf(x * math.sqrt(0.5))),
    "sum": torch.sum,
    "rows": lambda x: x.sum(1),
    "columns": lambda x: x.sum(0),
    "softmax": lambda x: torch.softmax(x, 1),
    "transpose": lambda x: x.t().contiguous(),
    "add_transposed": lambda x, y: x + y.t(),
    "bias_add": lambda x, b: x + b,
    "layer_norm": layer_norm,
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
    "transformer": transformer,
    "gpt2": gpt2,
}


NEEDS_GRADIENTS = ("hessian", "gradient_norms", "jacobian", "hessian_matrix", "conv", "conv_nchw")

# What compiles is written with functions of functions.
COMPILABLE = WORKS | {"hessian": compilable_hessian, "conv": conv("NHWC", True), "conv_nchw": conv("NCHW", True)}


def with_gradient(f):
    """What f gives, and the gradient of its sum by the first input."""
    def of(x, *rest):
        x = x.detach().requires_grad_()
        y = f(x, *rest)
        return [y, torch.autograd.grad(y, x, torch.ones_like(y))[0]]
    return of


def compilable_with_gradient(f):
    def of(x, *rest):
        y, back = torch.func.vjp(lambda x: f(x, *rest), x)
        return [y, back(torch.ones_like(y))[0]]
    return of


def training(f, x, labels, parameters):
    parameters = [p.requires_grad_() for p in parameters]

    def step():
        loss = f(x, labels, *parameters)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-0.01)
        return loss
    return contestant.training(step, host, lambda: host([as_given(p) for p in parameters]), wait)


def compiled_training(f, x, labels, parameters):
    """The whole step, which writes parameters where they are."""
    state = resnet_state(parameters) if f is resnet else []
    for t in (*parameters, *(s for pair in state for s in pair)):
        torch._dynamo.mark_static_address(t)

    def loss_of(parameters, state):
        if f is not resnet:
            return f(x, labels, *parameters), state
        logits, new_state = resnet(x, state, parameters, training=True)
        return functional.cross_entropy(logits, labels), new_state

    def step(parameters, state):
        gradients, (loss, new_state) = torch.func.grad_and_value(loss_of, has_aux=True)(parameters, state)
        with torch.no_grad():
            for p, g in zip(parameters, gradients):
                p.add_(g, alpha=-0.01)
            for old, new in zip(state, new_state):
                for o, n in zip(old, new):
                    o.copy_(n)
        return loss
    run = compiled(step)
    return contestant.training(lambda: run(parameters, state), host, lambda: host([as_given(p) for p in parameters]), wait)


class Doubled(torch.utils.data.Dataset):
    """Rows of a tensor, each doubled."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i] * 2


def make(work, mode, arrays, forms):
    if mode == "pipeline":
        loader = torch.utils.data.DataLoader(Doubled(torch.from_numpy(arrays[0])), batch_size=128, num_workers=0)
        return contestant.Workload(lambda: list(loader), host)
    traced = mode.startswith("traced") or mode == "captured"
    if mode in ("cold", "taped", "session") or not (GPU or traced):
        return None
    torch._dynamo.reset()  # what was compiled before does not make shapes of this one unknown
    x = [tensor(a, form) for a, form in zip(arrays, forms)]
    if work == "resnet_inference":
        f, x = resnet_for_inference(x[2:]), x[:1]
    else:
        f = resnet if work == "resnet" else (COMPILABLE if traced else WORKS).get(work)
    if not f:
        return None
    if mode in ("train", "traced_train"):
        return (compiled_training if traced else training)(f, x[0], x[1].long(), x[2:])
    if mode == "captured":
        f, x = lambda first, rest=x[1:], f=f: f(first, *rest), x[:1]
    if mode in ("grad", "traced_grad"):
        f = (compilable_with_gradient if traced else with_gradient)(f)
    f = compiled(f) if traced else f

    def run():
        with torch.inference_mode(mode not in ("grad",) and work not in NEEDS_GRADIENTS):
            return f(*x)
    return contestant.Workload(run, host, wait=wait)


if __name__ == "__main__":
    if not GPU:
        torch.set_num_threads(int(sys.argv[1]))
    contestant.serve(make)
