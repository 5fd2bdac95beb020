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


def mlp(x, labels, *layers):
    for i in range(0, len(layers), 2):
        x = x @ layers[i] + layers[i + 1]
        x = jax.nn.relu(x) if i + 2 < len(layers) else x
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1))


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
