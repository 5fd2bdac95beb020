"""Functions, conditionals and loops as TensorFlow 2 writes them, and their gradients: random ones give the same numbers
here as there. (What is saved here gives them there: test_random.py.)
"""

import os
import unittest

import numpy as np
import support
import tensorflow as tf

PROGRAMS = int(os.environ.get("PANTO_FUNCTION_PROGRAMS", "80"))


class Program:
    """A random function of x: float64[?] and n: int32[], of arithmetic, conditionals, loops and calls."""

    def __init__(self, seed):
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.depth = 0

    def chance(self, p):
        return self.rng.random() < p

    def constant(self):
        return float(np.round(self.rng.uniform(-2, 2), 2))

    def simple(self):
        """A function of (x, n) that keeps values small."""
        a, b = self.constant(), self.constant()
        return [
            lambda x, n: tf.sin(x * a) + b,
            lambda x, n: tf.tanh(x + a) * b,
            lambda x, n: x * tf.cast(n, x.dtype) * 0.1 + a,
            lambda x, n: tf.where(x > a, x * b, tf.cos(x)),
            lambda x, n: x - tf.reduce_mean(x) * a,
            lambda x, n: tf.exp(-x * x) + a,
        ][self.rng.integers(6)]

    def cond(self):
        then, otherwise, limit = self.part(), self.part(), self.constant()
        if self.chance(0.5):
            return lambda x, n: tf.cond(tf.reduce_sum(x) > limit, lambda: then(x, n), lambda: otherwise(x, n))
        return lambda x, n: tf.cond(n > 2, lambda: then(x, n), lambda: otherwise(x, n))

    def case(self):
        branches = [self.part() for _ in range(int(self.rng.integers(1, 4)))]
        return lambda x, n: tf.switch_case(n - 1, [lambda b=b: b(x, n) for b in branches])

    def loop(self):
        body = self.part()
        kind = self.rng.integers(4)
        if kind == 0:
            return lambda x, n: tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, body(v, i) + x), (0, x))[1]
        if kind == 1:
            return lambda x, n: tf.while_loop(
                lambda i, v: tf.reduce_sum(v * v) < 5.0, lambda i, v: (i + 1, body(v, i)), (0, x), maximum_iterations=4
            )[1]
        if kind == 2:
            return lambda x, n: tf.foldl(lambda total, v: total + body(x, n) * v, x, tf.zeros_like(x))
        return lambda x, n: tf.map_fn(lambda v: tf.reduce_sum(body(x * v, n)), x)

    def call(self):
        inner = tf.function(self.part())
        return lambda x, n: inner(x, n)

    def part(self):
        if self.depth == 2 or self.chance(0.3):
            return self.simple()
        self.depth += 1
        first = [self.cond, self.case, self.loop, self.call][self.rng.choice(4, p=[0.3, 0.1, 0.4, 0.2])]()
        second = self.simple()
        self.depth -= 1
        return lambda x, n: second(first(x, n), n)

    def whole(self):
        self.depth = 0
        part = [self.cond, self.case, self.loop, self.call][self.rng.integers(4)]()
        order = int(self.rng.choice(3, p=[0.3, 0.5, 0.2]))

        def fn(x, n):
            if order == 0:
                return part(x, n)
            with tf.GradientTape() as outer:
                outer.watch(x)
                if order == 1:
                    y = tf.reduce_sum(part(x, n))
                else:
                    with tf.GradientTape() as inner:
                        inner.watch(x)
                        z = tf.reduce_sum(part(x, n))
                    y = tf.reduce_sum(inner.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO) ** 2)
            return outer.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)

        return fn


def graph_of(fn):
    """(GraphDef, name of the output) of a function of x and n."""
    specs = [tf.TensorSpec([None], tf.float64, name="x"), tf.TensorSpec([], tf.int32, name="n")]
    concrete = tf.function(fn).get_concrete_function(*specs)
    return concrete.graph.as_graph_def(), concrete.outputs[0].name


FEEDS = [
    {"x": np.array([0.3, -1.1, 0.8]), "n": np.int32(3)},
    {"x": np.array([1.5]), "n": np.int32(0)},
    {"x": np.array([-0.4, 0.2]), "n": np.int32(1)},
]


class FromTensorFlow(unittest.TestCase):
    maxDiff = 2000

    @support.needs_panto
    def test_random_programs(self):
        for seed in range(PROGRAMS):
            with self.subTest(seed=seed):
                graph, output = graph_of(Program(seed).whole())
                with support.saved(graph) as path:
                    for feeds in FEEDS:
                        expected = support.run_graph_def(graph, feeds, [output])[output]
                        actual = support.panto_run(path, feeds, [output])[output]
                        support.assert_same(self, actual, expected, f"seed {seed}", rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    support.main()
