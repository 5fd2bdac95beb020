"""PyTorch's contestant on a GPU: eager calls, and the same compiled. (On CPUs it is called from C++: torch.cc.)"""
import math

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as functional

import contestant

torch.backends.cuda.matmul.allow_tf32 = False  # products of float32, as ours
torch.backends.cudnn.allow_tf32 = False


def host(result):
    if isinstance(result, (list, tuple)):
        return [host(r) for r in result]
    result = result.detach().cpu()
    return (result.float() if result.dtype == torch.bfloat16 else result).numpy()


def tensor(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.astype(np.float32)).bfloat16()
    return torch.from_numpy(array)


def wait(_):
    torch.cuda.synchronize()


def conv(layout):
    """The convolution, and its gradients by x and the kernel, for the gradient `seed` by what it gave."""
    def images(x):  # to PyTorch's order, without moving anything
        return x.permute(0, 3, 1, 2) if layout == "NHWC" else x

    def of(x, kernel, seed):
        x, kernel = x.detach().requires_grad_(), kernel.detach().requires_grad_()
        y = functional.conv2d(images(x), kernel.permute(3, 2, 0, 1), padding=kernel.shape[0] // 2)
        gradients = torch.autograd.grad(y, (x, kernel), images(seed))
        return [y.permute(0, 2, 3, 1) if layout == "NHWC" else y, *gradients]
    return of


def layer_norm(x, scale, offset):
    return functional.layer_norm(x, (x.shape[-1],), scale, offset)


def mlp(x, labels, *layers):
    for i in range(0, len(layers), 2):
        x = torch.addmm(layers[i + 1], x, layers[i])
        x = torch.relu(x) if i + 2 < len(layers) else x
    return functional.cross_entropy(x, labels)


def cnn(x, labels, *p):
    """x [batch, height, width, channels]; two convolutions, each with a pool, and a dense layer."""
    x = x.permute(0, 3, 1, 2)
    for i in (0, 2):
        x = torch.relu(functional.conv2d(x, p[i].permute(3, 2, 0, 1), p[i + 1], padding="same"))
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


WORKS = {
    "add": torch.add,
    "mul": torch.mul,
    "matmul": torch.matmul,
    "matmul_bfloat16": torch.matmul,
    "chain": contestant.chain,
    "product": contestant.product,
    "view": lambda x: x.reshape(-1),
    "hessian": hessian_by_vector,
    "log_exp": contestant.log_exp(torch.log, torch.exp),
    "conv": conv("NHWC"),
    "conv_nchw": conv("NCHW"),
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


def gradient(f):
    def of(x, *rest):
        x = x.detach().requires_grad_()
        y = f(x, *rest)
        return torch.autograd.grad(y, x, torch.ones_like(y))[0]
    return of


def training(f, x, labels, parameters):
    parameters = [p.requires_grad_() for p in parameters]

    def step():
        loss = f(x, labels, *parameters)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-0.01)
        return loss
    return contestant.training(step, host, wait)


def make(work, mode, arrays):
    f = WORKS.get(work)
    if not f or mode in ("cold", "taped"):
        return None
    x = [tensor(a).cuda() for a in arrays]
    if mode in ("train", "traced_train"):
        f = torch.compile(f) if mode == "traced_train" else f
        return training(f, x[0], x[1].long(), x[2:])
    if mode == "captured":
        f, x = torch.compile(lambda first, rest=x[1:]: WORKS[work](first, *rest)), x[:1]
    f = torch.compile(f) if mode in ("traced", "traced_grad") else f
    f = gradient(f) if mode in ("grad", "traced_grad") else f
    return contestant.Workload(lambda: f(*x), host, wait=wait)


if __name__ == "__main__":
    contestant.serve(make)
