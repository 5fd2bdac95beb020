"""Graphs with ragged tensors that variants hold, built in TensorFlow with their gradients, run by `panto run` and compared."""

import unittest

import numpy as np
import support
import tensorflow as tf

tf1, raw = tf.compat.v1, tf.raw_ops
X = np.array([0.5, -1.5, 2.0, 0.25, -0.75, 1.25], np.float32)
ROWS, TABLES = [0, 2, 2, 6], [[0, 2, 3], [0, 2, 2, 6]]


def encoded(nested, values, batched=True, splits=tf.int64):
    return raw.RaggedTensorToVariant(
        rt_nested_splits=[tf.constant(s, splits) for s in nested], rt_dense_values=values, batched_input=batched
    )


def decoded(variants, input_rank, output_rank, dtype=tf.float32, splits=tf.int64):
    nested, values = raw.RaggedTensorFromVariant(
        encoded_ragged=variants, input_ragged_rank=input_rank, output_ragged_rank=output_rank, Tvalues=dtype, Tsplits=splits
    )
    return [*nested, values]


# Every function makes tensors of x, a placeholder [6]; those of floats are differentiated by x.


def whole(x):
    return decoded(encoded([ROWS], x * x, False), 1, 1)


def dense(x):
    return decoded(encoded([], tf.reshape(x * x, [2, 3]), False), 0, 0)


def rows(x):
    return decoded(encoded([ROWS], x * x), 0, 1)


def rows_of_int32(x):
    return decoded(encoded([ROWS], x * x, splits=tf.int32), 0, 1, splits=tf.int32)


def tables(x):
    return decoded(encoded(TABLES, x * x), 1, 2)


def inferred(x):
    return decoded(encoded(TABLES, x * x), -1, 2)


def matrix(x):
    return decoded(encoded([], tf.reshape(x * x, [2, 3])), 0, 1)


def stacked(x):
    return decoded(encoded([], tf.reshape(x * x, [2, 3])), -1, 0)


def inner(x):
    return decoded(encoded([[0, 1, 3]], tf.reshape(tf.sin(x), [3, 2])), 0, 1)


def one_row(x):
    return decoded(encoded([ROWS], tf.sin(x))[2], 0, 0)


def nothing(x):
    return decoded(encoded([[0], [0]], x[:0]), 1, 2)


# TensorFlow has no gradients of these.


def gathered(x):
    return decoded(tf.gather(encoded([ROWS], x), [2, 0, 2, 1]), 0, 1)


def in_two_dimensions(x):
    return decoded(tf.reshape(encoded([[0, 1, 2, 4, 6]], x), [2, 2]), 0, 2)


def strings(x):
    return decoded(encoded([[0, 2, 3]], tf.constant([b"a", b"b", b"c"])), 0, 1, tf.string)


def sums(x):
    a = encoded([ROWS], x, False)
    return decoded(raw.AddN(inputs=[a, a]), 1, 1) + decoded(raw.ZerosLike(x=a), 1, 1)


def gradient(x):
    return [
        raw.RaggedTensorToVariantGradient(
            encoded_ragged_grad=encoded([ROWS], x),
            row_splits=tf.constant(ROWS, tf.int64),
            dense_values_shape=[6],
            Tvalues=tf.float32,
        )
    ]


@support.needs_panto
class RaggedVariants(unittest.TestCase):
    def same(self, function, differentiated):
        graph = tf.Graph()
        with graph.as_default():
            x = tf1.placeholder(tf.float32, [6], name="x")
            outputs = function(x)
            floats = [y for y in outputs if y.dtype == tf.float32]
            gradients = tf1.gradients([y * y for y in floats], [x]) if differentiated else []
            named = [tf.identity(t, name=f"out_{i}") for i, t in enumerate([*outputs, *gradients])]
        definition = graph.as_graph_def()
        fetches = [t.op.name for t in named]
        expected = support.run_graph_def(definition, {"x": X}, fetches)
        with support.saved(definition) as path:
            actual = support.panto_run(path, {"x": X}, fetches)
        for name in fetches:
            support.assert_same(self, actual[name], expected[name], f"{function.__name__} {name}")

    def test_there_and_back(self):
        for function in (whole, dense, rows, rows_of_int32, tables, inferred, matrix, stacked, inner, one_row, nothing):
            with self.subTest(function.__name__):
                self.same(function, True)

    def test_without_gradients(self):
        for function in (gathered, in_two_dimensions, strings, sums, gradient):
            with self.subTest(function.__name__):
                self.same(function, False)

    def test_ours_differentiate_what_tensorflow_writes(self):
        """By our tape, beside what is known of the function: each row's values count as often as it is taken."""
        for function, expected in ((rows, 4 * X**3), (in_two_dimensions, 2 * X)):
            graph = tf.Graph()
            with graph.as_default():
                x = tf1.placeholder(tf.float32, [6], name="x")
                values = function(x)[-1]
                tf.identity(values * values, name="out")
            with support.saved(graph.as_graph_def()) as path:
                np.testing.assert_allclose(support.panto_gradient(path, {"x": X}, "x", ["out"]), expected, rtol=1e-6)


if __name__ == "__main__":
    support.main()
