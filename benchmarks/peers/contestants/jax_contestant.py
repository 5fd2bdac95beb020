"""JAX's contestant: eager calls, and the same under jit."""
import os
import sys

GPU = "gpu" in sys.argv
os.environ["JAX_PLATFORMS"] = "cuda" if GPU else "cpu"

import jax
import jax.experimental.sparse
import jax.numpy as jnp
import numpy as np

import contestant

if GPU:
    jax.config.update("jax_default_matmul_precision", "highest")  # products of float32, as ours


def host(result):
    jax.block_until_ready(result)
    return [np.asarray(r) for r in result] if isinstance(result, (list, tuple)) else np.asarray(result)


def conv(layout):
    """The convolution, and its gradients by x and the kernel, for the gradient `seed` by what it gave."""
    def of(x, kernel, seed):
        y, back = jax.vjp(lambda x, kernel: jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=(layout, "HWIO", layout)), x, kernel)
        return [y, *back(seed)]
    return of


def layer_norm(x, scale, offset):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * scale + offset


def loss_of(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))


def mlp(x, labels, *layers):
    for i in range(0, len(layers), 2):
        x = x @ layers[i] + layers[i + 1]
        x = jax.nn.relu(x) if i + 2 < len(layers) else x
    return loss_of(x, labels)


def cnn(x, labels, *p):
    """x [batch, height, width, channels]; two convolutions, each with a pool, and a dense layer."""
    for i in (0, 2):
        x = jax.lax.conv_general_dilated(x, p[i], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + p[i + 1]
        x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return loss_of(x.reshape(x.shape[0], -1) @ p[4] + p[5], labels)


def lstm(x, labels, kernel, bias, weights, offset):
    """x [steps, batch, inputs]; of the cell [inputs + state, 4 state], then of a dense layer on the last state."""
    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h], 1) @ kernel + bias, 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((x.shape[1], kernel.shape[1] // 4))
    (h, _), _ = jax.lax.scan(step, (zeros, zeros), x)
    return loss_of(h @ weights + offset, labels)


def block(x, p, mask=0.0):
    """x [tokens of 8 texts, width]; attention with four heads, then two dense layers, each after a layer norm. `mask` is
    added to what each token of a text says of each other."""
    tokens, width = x.shape
    projected = layer_norm(x, p[0], p[1]) @ p[2] + p[3]
    q, k, v = projected.reshape(8, tokens // 8, 3, 4, width // 4).transpose(2, 0, 3, 1, 4)
    weights = jax.nn.softmax(q @ k.swapaxes(2, 3) * (width // 4) ** -0.5 + mask)
    x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(tokens, width) @ p[4] + p[5]
    h = jax.nn.gelu(layer_norm(x, p[6], p[7]) @ p[8] + p[9], approximate=False)
    return x + h @ p[10] + p[11]


def transformer(x, labels, *p):
    return loss_of(block(x, p), labels)


def gpt2(tokens, labels, words, positions, *p):
    """Of GPT-2 (Radford and others 2019). Tokens of 8 texts, one after the other, and those that follow; a vector for each
    word and for each position, blocks of 12 parameters, and a layer norm. The words' vectors are also the last layer's
    weights."""
    mask = jnp.triu(jnp.full((len(positions),) * 2, -1e9, jnp.float32), 1)
    x = (words[tokens].reshape(-1, *positions.shape) + positions).reshape(len(tokens), -1)
    for at in range(0, len(p) - 2, 12):
        x = block(x, p[at:], mask)
    return loss_of(layer_norm(x, *p[-2:]) @ words.T, labels)


def fall(x):
    """Euler's method for x' = -sin(x), in a loop of the graph."""
    return jax.lax.fori_loop(0, 100000, lambda _, at: at - 1e-4 * jnp.sin(at), x)


def hessian_by_vector(x, w, u, v):
    """The matrix of second derivatives of sum(tanh(x w) u), by v."""
    first = jax.grad(lambda x: jnp.sum(jnp.tanh(x * w) * u))
    return jax.vjp(first, x)[1](v)[0]


def gradient_norms(x, labels, *parameters):
    """The squared length of the gradient that each example alone gives."""
    def norm(x, label):
        gradients = jax.grad(lambda p: mlp(x[None], label[None], *p))(parameters)
        return sum(jnp.sum(g * g) for g in gradients)
    return jax.vmap(norm)(x, labels)


def jacobian(x, w, b, v, c):
    return jax.jacrev(lambda x: jnp.tanh(x @ w + b) @ v + c)(x)


def hessian_matrix(x, w, u):
    return jax.hessian(lambda x: jnp.sum(jnp.tanh(x @ w) * u))(x)


PRECISION = np.array([[5.005, 4.995], [4.995, 5.005]], np.float32)
MASKS = np.array([[[1, 0]], [[0, 1]]] * 5, np.float32)  # for ten steps
ANGLES = np.arange(10) * (2 * np.pi / 10)
TIMES = np.stack([np.cos(ANGLES), np.sin(ANGLES)], -1).astype(np.float32)[:, None]


def update_of(p, a, b, time):
    """What the networks S, Q and T of L2HMC say of one half of a point."""
    h = jax.nn.relu(a @ p[0] + b @ p[1] + time @ p[2] + p[3])
    h = jax.nn.relu(h @ p[4] + p[5])
    return (jnp.tanh(h @ p[6] + p[7]) * jnp.exp(p[8]), h @ p[9] + p[10],
            jnp.tanh(h @ p[11] + p[12]) * jnp.exp(p[13]))


def energy(x):
    """Of a Gaussian whose variances are 100 and 0.1, along the diagonals."""
    return 0.5 * jnp.sum(x @ PRECISION * x, 1)


def energy_gradient(x):
    return jax.grad(lambda x: energy(x).sum())(x)


def hamiltonian(x, v):
    return energy(x) + 0.5 * jnp.sum(v * v, 1)


def l2hmc(x, v, step, *p):
    """Positions and momenta [samples, 2], the logarithm of a step's length [1], parameters for positions and for momenta.
    Ten leapfrog steps forward of L2HMC (Levy, Hoffman and Sohl-Dickstein 2018); the loss of section 4, scaled."""
    first, before, step = x, hamiltonian(x, v), jnp.exp(step)

    def move_momentum(x, v, log_jacobian, time):
        slope = energy_gradient(x)
        scale, translation, transformation = update_of(p[14:], x, slope, time)
        scale = 0.5 * step * scale
        v = v * jnp.exp(scale) - 0.5 * step * (jnp.exp(step * transformation) * slope - translation)
        return x, v, log_jacobian + jnp.sum(scale, 1)

    def move_position(x, v, log_jacobian, time, kept):
        scale, translation, transformation = update_of(p[:14], v, kept * x, time)
        scale = step * scale
        moving = x * jnp.exp(scale) + step * (jnp.exp(step * transformation) * v + translation)
        return kept * x + (1 - kept) * moving, v, log_jacobian + jnp.sum((1 - kept) * scale, 1)

    def leap(state, moment):
        time, mask = moment
        state = move_momentum(*state, time)
        state = move_position(*state, time, mask)
        state = move_position(*state, time, 1 - mask)
        return move_momentum(*state, time), None

    (x, v, log_jacobian), _ = jax.lax.scan(leap, (x, v, jnp.zeros(len(x))), (TIMES, MASKS))
    accepted = jnp.exp(jnp.minimum(before - hamiltonian(x, v) + log_jacobian, 0.0))
    jump = jnp.sum(jnp.square(x - first), 1) * accepted + 1e-4
    return jnp.mean(0.001 / jump - 0.1 * jump)


def resnet(x, labels, state, *p):
    logits, new_state = resnet_logits(x, state, p, training=True)
    return loss_of(logits, labels), new_state


def resnet_logits(x, state, p, training):
    """A residual network of bottlenecks, with the step in the 3x3 convolution. p: for each convolution its kernel and its
    norm's scale and offset; at the end a dense layer's weights and bias. First comes a convolution with a pool, then
    bottlenecks of three convolutions, four where the number of channels changes. From there on, but for the first one,
    the images are halved."""
    at, new_state = 0, []

    def convolve(x, stride):
        nonlocal at
        kernel, scale, offset, (old_mean, old_variance) = *p[at:at + 3], state[at // 3]
        at += 3
        padding = ((kernel.shape[0] // 2,) * 2,) * 2
        y = jax.lax.conv_general_dilated(x, kernel, (stride, stride), padding,
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
        if not training:
            return (y - old_mean) * (jax.lax.rsqrt(old_variance + 1e-3) * scale) + offset
        mean = y.mean((0, 1, 2))
        variance = jnp.square(y).mean((0, 1, 2)) - jnp.square(mean)
        n = y.size // y.shape[3]
        new_state.append((0.99 * old_mean + 0.01 * mean, 0.99 * old_variance + 0.01 * n / (n - 1) * variance))
        return (y - mean) * (jax.lax.rsqrt(variance + 1e-3) * scale) + offset

    x = jax.nn.relu(convolve(x, 2))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    while at < len(p) - 2:
        changes = p[at].shape[2] != p[at + 6].shape[3]
        stride = 2 if changes and at > 3 else 1
        y = convolve(jax.nn.relu(convolve(jax.nn.relu(convolve(x, 1)), stride)), 1)
        x = jax.nn.relu(y + (convolve(x, stride) if changes else x))
    return x.mean((1, 2)) @ p[at] + p[at + 1], new_state


def resnet_state(parameters):
    return [(jnp.zeros(scale.shape), jnp.ones(scale.shape)) for scale in parameters[1:-2:3]]


def convolution(x, kernel, groups=1):
    layout = ("NHWC", "HWIO", "NHWC") if x.ndim == 4 else ("NDHWC", "DHWIO", "NDHWC")
    return jax.lax.conv_general_dilated(x, kernel, (1,) * (x.ndim - 2), "SAME", dimension_numbers=layout,
                                        feature_group_count=groups)


def depthwise(x, kernel):
    return convolution(x, kernel.reshape(*kernel.shape[:2], 1, -1), x.shape[-1])


def pool(x, size, init, join):
    return jax.lax.reduce_window(x, init, join, (1, size, size, 1), (1, 2, 2, 1), "VALID")


def batch_norm(x, scale, offset, mean, variance):
    return (x - mean) * (jax.lax.rsqrt(variance + 1e-3) * scale) + offset


def batch_norm_training(x, scale, offset, *_):
    mean = x.mean((0, 1, 2))
    return [batch_norm(x, scale, offset, mean, jnp.square(x).mean((0, 1, 2)) - jnp.square(mean)), mean]


def unique(x):
    """Without jit: how many there are decides a shape."""
    return list(jnp.unique(x, return_inverse=True))


def sparse_dense(places, values, x):
    return jax.experimental.sparse.BCOO((values, places), shape=(len(x),) * 2) @ x


KERNELS = {
    "depthwise": depthwise,
    "grouped": lambda x, kernel: convolution(x, kernel, x.shape[-1] // kernel.shape[2]),
    "conv3d": convolution,
    "max_pool": lambda x: pool(x, 3, -jnp.inf, jax.lax.max),
    "avg_pool": lambda x: pool(x, 2, 0.0, jax.lax.add) / 4,
    "resize": lambda x: jax.image.resize(x, (len(x), 2 * x.shape[1], 2 * x.shape[2], x.shape[3]), "bilinear"),
    "batch_norm": batch_norm,
    "batch_norm_training": batch_norm_training,
    "sort": jnp.sort,
    "top_k": lambda x: jax.lax.top_k(x, 100),
    "cumsum": lambda x: jnp.cumsum(x, -1),
    "gather": lambda table, rows: table[rows],
    "scatter_add": lambda table, rows, updates: table.at[rows].add(updates),
    "segment_sum": lambda x, ids: jax.ops.segment_sum(x, ids, 100000),
    "embedding_bag": lambda table, rows, bags: jax.ops.segment_sum(
        table[rows], bags, len(bags) // 32, indices_are_sorted=True),
    "unique": unique,
    "one_hot": lambda x: jax.nn.one_hot(x, 256),
    "where": jnp.where,
    "nonzero": jnp.argwhere,
    "normal": lambda x: jax.random.normal(jax.random.key(1), x.shape),
    "fft": jnp.fft.fft,
    "rfft": jnp.fft.rfft,
    "fft2": jnp.fft.fft2,
    "cholesky": jnp.linalg.cholesky,
    "qr": lambda x: list(jnp.linalg.qr(x)),
    "svd": lambda x: (lambda u, s, v: [s, u, v.T])(*jnp.linalg.svd(x)),
    "eigh": lambda x: list(jnp.linalg.eigh(x)),
    "solve": jnp.linalg.solve,
    "sparse_dense": sparse_dense,
}
# What nobody calls without jit: an op of its own is slow there. In eager rows as well.
JITTED = set(KERNELS) - {"unique", "nonzero"}

WORKS = KERNELS | {
    "add": jnp.add,
    "mul": jnp.multiply,
    "matmul": jnp.matmul,
    "quantized_matmul": lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.int32),
    "chain": contestant.chain,
    "fall": fall,
    "product": contestant.product,
    "view": lambda x: x.reshape(-1),
    "hessian": hessian_by_vector,
    "gradient_norms": gradient_norms,
    "jacobian": jacobian,
    "hessian_matrix": hessian_matrix,
    "log_exp": contestant.log_exp(jnp.log, jnp.exp),
    "conv": conv("NHWC"),
    "conv_nchw": conv("NCHW"),
    "exp": jnp.exp,
    "tanh": jnp.tanh,
    "gelu": lambda x: 0.5 * x * (1.0 + jax.scipy.special.erf(x * 0.7071067811865476)),
    "sum": jnp.sum,
    "rows": lambda x: x.sum(1),
    "columns": lambda x: x.sum(0),
    "softmax": lambda x: jax.nn.softmax(x, axis=1),
    "transpose": lambda x: jnp.array(x.T, copy=True),
    "add_transposed": lambda x, y: x + y.T,
    "bias_add": lambda x, b: x + b,
    "layer_norm": layer_norm,
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
    "transformer": transformer,
    "gpt2": gpt2,
    "l2hmc": l2hmc,
    "resnet": resnet,
}


def with_gradient(f):
    """What f gives, and the gradient of its sum by the first input."""
    def of(x, *rest):
        y, back = jax.vjp(lambda a: f(a, *rest), x)
        return [y, back(jnp.ones_like(y))[0]]
    return of


def training(f, x, labels, parameters, compiled):
    state = resnet_state(parameters) if f is resnet else ()

    def loss_and_state(parameters, state):
        return f(x, labels, state, *parameters) if f is resnet else (f(x, labels, *parameters), state)

    def step(parameters, state):
        (loss, state), gradients = jax.value_and_grad(loss_and_state, has_aux=True)(parameters, state)
        return loss, [p - 0.01 * g for p, g in zip(parameters, gradients)], state

    # Parameters are written over: no step reads the ones before.
    step = jax.jit(step, donate_argnums=(0, 1)) if compiled else step

    def run():
        nonlocal parameters, state
        loss, parameters, state = step(parameters, state)
        return loss
    return contestant.training(run, host, lambda: parameters, jax.block_until_ready)


def resnet_for_inference(parameters):
    """Of the images."""
    parameters = [jnp.asarray(p) for p in parameters]
    state = resnet_state(parameters)
    return lambda x: resnet_logits(x, state, parameters, training=False)[0]


def make(work, mode, arrays, _):
    f = WORKS.get(work)
    if work == "resnet_inference":
        f, arrays = resnet_for_inference(arrays[2:]), arrays[:1]
    if not f or mode == "taped":  # there is no tape: gradients are made of the whole function
        return None
    if any(a.dtype == object for a in arrays):
        return None  # there are no texts
    x = [jnp.asarray(a) for a in arrays]
    if mode == "cold":
        return contestant.Workload(lambda: jax.jit(lambda *a: f(*a))(*x), host)
    if mode in ("train", "traced_train"):
        return training(f, x[0], x[1], x[2:], mode == "traced_train")
    if mode in ("captured", "frozen"):
        g = jax.jit(lambda first: f(first, *x[1:]))
        return contestant.Workload(lambda: g(x[0]), host, wait=jax.block_until_ready)
    f = with_gradient(f) if mode in ("grad", "traced_grad") else f
    f = jax.jit(f) if mode in ("traced", "traced_grad") or work in JITTED else f
    return contestant.Workload(lambda: f(*x), host, wait=jax.block_until_ready)


if __name__ == "__main__":
    contestant.serve(make)
