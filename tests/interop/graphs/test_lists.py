"""Graphs with lists of tensors, built in TensorFlow with their gradients, run by `panto run` and compared."""

import unittest

import numpy as np
import support
import tensorflow as tf

tf1, raw = tf.compat.v1, tf.raw_ops
F4 = np.float32


def numbers(*shape, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).uniform(-2, 2, shape).astype(F4)


def empty(shape, dtype=tf.float32):
    return raw.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=dtype)


def push(handle, tensor):
    return raw.TensorListPushBack(input_handle=handle, tensor=tensor)


def pop(handle, shape=(2,)):
    return raw.TensorListPopBack(input_handle=handle, element_shape=tf.constant(shape, tf.int32), element_dtype=tf.float32)


def stack(handle, shape=(2,), name=None):
    return raw.TensorListStack(
        input_handle=handle, element_shape=tf.constant(shape, tf.int32), element_dtype=tf.float32, name=name
    )


def get(handle, index, shape=(2,)):
    return raw.TensorListGetItem(
        input_handle=handle, index=index, element_shape=tf.constant(shape, tf.int32), element_dtype=tf.float32
    )


def put(handle, index, item, resize=False):
    return raw.TensorListSetItem(
        input_handle=handle, index=index, item=item, resize_if_index_out_of_bounds=resize
    )


# Every function makes tensors of x, a placeholder [3,2]; those of floats are differentiated by x.


def pushes(x):
    handle = empty(tf.constant([2]))
    for i in range(3):
        handle = push(handle, tf.tanh(x[i]) * x[0])
    return [stack(handle), raw.TensorListLength(input_handle=handle)]


def pops(x):
    handle = raw.TensorListFromTensor(tensor=x * x, element_shape=tf.constant([2]))
    rest, last = pop(handle)
    rest, second = pop(rest)
    return [last * second, stack(rest), raw.TensorListLength(input_handle=rest)]


def items(x):
    handle = raw.TensorListReserve(element_shape=tf.constant([2]), num_elements=4, element_dtype=tf.float32)
    handle = put(handle, 1, x[0])
    handle = put(handle, 3, tf.sin(x[2]))
    handle = put(handle, 1, x[1] * 3)
    return [get(handle, 1), get(handle, 3) * get(handle, 1), stack(handle), get(handle, 0)]


def shapes(x):
    handle = empty(tf.constant([-1, 3]))
    unknown = empty(tf.constant(-1))
    return [
        raw.TensorListElementShape(input_handle=handle, shape_type=tf.int32),
        raw.TensorListElementShape(input_handle=handle, shape_type=tf.int64),
        raw.TensorListElementShape(input_handle=unknown, shape_type=tf.int32),
    ]


def sums(x):
    a = raw.TensorListFromTensor(tensor=x, element_shape=tf.constant([2]))
    b = raw.TensorListReserve(element_shape=tf.constant([2]), num_elements=3, element_dtype=tf.float32)
    b = put(b, 1, x[0])
    return [stack(raw.AddN(inputs=[a, a])), stack(raw.AddN(inputs=[b, a])), stack(raw.ZerosLike(x=a))]


def grown(x):
    handle = raw.TensorListReserve(element_shape=tf.constant([2]), num_elements=0, element_dtype=tf.float32)
    for i in range(3):
        handle = put(handle, i, x[i] * x[i], resize=True)
    return [stack(handle), raw.TensorListLength(input_handle=handle)]


def several(x):
    handle = raw.TensorListScatterV2(
        tensor=x * x, indices=[2, 0, 3], element_shape=tf.constant([2]), num_elements=tf.constant(5)
    )
    handle = raw.TensorListScatterIntoExistingList(input_handle=handle, tensor=tf.sin(x[:1]), indices=[1])
    taken = raw.TensorListGather(
        input_handle=handle, indices=[1, 3, 0], element_shape=tf.constant([2]), element_dtype=tf.float32
    )
    return [taken, stack(handle)]


def pieces(x):
    lengths = tf.constant([2, 1], tf.int64)
    handle = raw.TensorListSplit(tensor=x * x, element_shape=tf.constant([-1, 2]), lengths=lengths)
    joined = raw.TensorListConcatV2(
        input_handle=handle, element_shape=tf.constant([-1, 2]), leading_dims=lengths, element_dtype=tf.float32
    )
    return [joined.tensor, joined.lengths, get(handle, 1, (1, 2))]


def strings(x):
    handle = empty(tf.constant([], tf.int32), tf.string)
    handle = push(handle, tf.constant(b"a"))
    handle = push(handle, tf.constant(b"bc"))
    return [
        raw.TensorListStack(input_handle=handle, element_shape=tf.constant([], tf.int32), element_dtype=tf.string)
    ]


@support.needs_panto
class Lists(unittest.TestCase):
    def same(self, function):
        graph = tf.Graph()
        with graph.as_default():
            x = tf1.placeholder(tf.float32, [3, 2], name="x")
            outputs = function(x)
            floats = [y for y in outputs if y.dtype == tf.float32]
            gradients = [g for g in tf1.gradients([y * y for y in floats], [x]) if g is not None] if floats else []
            second = [g for g in tf1.gradients(gradients, [x]) if g is not None] if gradients else []
            named = [tf.identity(t, name=f"out_{i}") for i, t in enumerate([*outputs, *gradients, *second])]
        definition = graph.as_graph_def()
        fetches = [t.op.name for t in named]
        feeds = {"x": numbers(3, 2)}
        expected = support.run_graph_def(definition, feeds, fetches)
        with support.saved(definition) as path:
            actual = support.panto_run(path, feeds, fetches)
        for name in fetches:
            support.assert_same(self, actual[name], expected[name], f"{function.__name__} {name}")
        return len(gradients), len(second)

    def test_pushes(self):
        self.assertEqual(self.same(pushes), (1, 1))

    def test_pops(self):
        self.assertEqual(self.same(pops), (1, 1))

    def test_items(self):
        self.assertEqual(self.same(items), (1, 1))

    def test_shapes(self):
        self.same(shapes)

    def test_sums(self):
        self.assertEqual(self.same(sums)[0], 1)

    def test_grown(self):
        self.assertEqual(self.same(grown), (1, 1))

    def test_several(self):
        self.assertEqual(self.same(several), (1, 1))

    def test_pieces(self):
        self.assertEqual(self.same(pieces), (1, 1))

    def test_strings(self):
        self.same(strings)


if __name__ == "__main__":
    support.main()
