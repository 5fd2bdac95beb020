"""JAX's contestant: eager calls, and the same under jit."""
import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

import contestant


def host(result):
    return np.asarray(result.block_until_ready())


def chain(x, factor):
    for _ in range(100):
        x = x * factor
    return x


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


def transformer(x, labels, *p):
    """x [batch of 8 x 128 tokens, 256]; attention with four heads, then two dense layers, each after a layer norm."""
    tokens, width = x.shape
    projected = layer_norm(x, p[0], p[1]) @ p[2] + p[3]
    q, k, v = projected.reshape(8, tokens // 8, 3, 4, width // 4).transpose(2, 0, 3, 1, 4)
    weights = jax.nn.softmax(q @ k.swapaxes(2, 3) * (width // 4) ** -0.5)
    x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(tokens, width) @ p[4] + p[5]
    h = jax.nn.gelu(layer_norm(x, p[6], p[7]) @ p[8] + p[9], approximate=False)
    return loss_of(x + h @ p[10] + p[11], labels)


WORKS = {
    "add": jnp.add,
    "mul": jnp.multiply,
    "matmul": jnp.matmul,
    "chain": chain,
    "exp": jnp.exp,
    "tanh": jnp.tanh,
    "gelu": lambda x: 0.5 * x * (1.0 + jax.scipy.special.erf(x * 0.7071067811865476)),
    "sum": jnp.sum,
    "rows": lambda x: x.sum(1),
    "columns": lambda x: x.sum(0),
    "softmax": lambda x: jax.nn.softmax(x, axis=1),
    "transpose": lambda x: jnp.array(x.T, copy=True),
    "bias_add": lambda x, b: x + b,
    "layer_norm": layer_norm,
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
    "transformer": transformer,
}


def gradient(f):
    def of(x, *rest):
        y, back = jax.vjp(lambda a: f(a, *rest), x)
        return back(jnp.ones_like(y))[0]
    return of


def training(f, x, labels, parameters, compiled):
    def step(parameters):
        loss, gradients = jax.value_and_grad(lambda p: f(x, labels, *p))(parameters)
        return loss, [p - 0.01 * g for p, g in zip(parameters, gradients)]

    step = jax.jit(step) if compiled else step

    def run():
        nonlocal parameters
        loss, parameters = step(parameters)
        return loss
    return contestant.training(run, host)


def make(work, mode, arrays):
    f = WORKS.get(work)
    if not f or mode == "taped":  # there is no tape: gradients are made of the whole function
        return None
    x = [jnp.asarray(a) for a in arrays]
    if mode == "cold":
        return contestant.Workload(lambda: jax.jit(lambda *a: f(*a))(*x), host)
    if mode in ("train", "traced_train"):
        return training(f, x[0], x[1], x[2:], mode == "traced_train")
    f = gradient(f) if mode in ("grad", "traced_grad") else f
    f = jax.jit(f) if mode in ("traced", "traced_grad") else f
    return contestant.Workload(lambda: f(*x), host)


if __name__ == "__main__":
    contestant.serve(make)
