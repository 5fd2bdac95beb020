"""Graphs with tables, and with arrays that loops of TensorFlow 1 fill, built in TensorFlow, run by `panto run` and
compared."""

import pathlib
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf

tf1, raw = tf.compat.v1, tf.raw_ops
F4 = np.float32


def in_order(*steps):
    """Calls each of them once the one before has run; their results."""
    results, before = [], []
    for step in steps:
        with tf.control_dependencies(before):
            result = step()
        results.append(result)
        before = [result if isinstance(result, tf.Operation) else tf.nest.flatten(result)[0].op]
    return results


KEYS = [b"a", b"x", b"c"]


def fixed():
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    results = in_order(
        lambda: raw.InitializeTableV2(table_handle=table, keys=[b"a", b"b", b"c"], values=np.array([1, 2, 3])),
        lambda: raw.LookupTableFindV2(table_handle=table, keys=KEYS, default_value=np.int64(-1)),
        lambda: raw.LookupTableSizeV2(table_handle=table),
    )
    return results[1:]


def with_references():
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.float32)
    results = in_order(
        lambda: raw.InitializeTable(table_handle=table, keys=[b"a", b"b", b"c"], values=F4([1, 2, 3])),
        lambda: raw.LookupTableFind(table_handle=table, keys=KEYS, default_value=F4(-1)),
        lambda: raw.LookupTableSize(table_handle=table),
    )
    return results[1:]


def changed():
    table = raw.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.float32)
    numbers = np.array([1, 2, 3, 4])
    results = in_order(
        lambda: raw.LookupTableInsertV2(table_handle=table, keys=numbers[:3], values=F4([1, 2, 3])),
        lambda: raw.LookupTableInsertV2(table_handle=table, keys=numbers[1:2], values=F4([20])),
        lambda: raw.LookupTableFindV2(table_handle=table, keys=numbers, default_value=F4(-1)),
        lambda: raw.LookupTableRemoveV2(table_handle=table, keys=numbers[:1]),
        lambda: raw.LookupTableFindV2(table_handle=table, keys=numbers, default_value=F4([5, 6, 7, 8])),
        lambda: raw.LookupTableImportV2(table_handle=table, keys=numbers[3:], values=F4([9])),
        lambda: raw.LookupTableExportV2(table_handle=table, Tkeys=tf.int64, Tvalues=tf.float32),
    )
    return [results[2], results[4], *results[6]]


def of_tensors():
    table = raw.MutableHashTableOfTensorsV2(key_dtype=tf.string, value_dtype=tf.float32, value_shape=[2])
    results = in_order(
        lambda: raw.LookupTableInsertV2(table_handle=table, keys=[b"a", b"c"], values=F4([[1, 2], [3, 4]])),
        lambda: raw.LookupTableFindV2(table_handle=table, keys=KEYS, default_value=F4([8, 9])),
    )
    return results[1:]


def from_file(path):
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    numbers = raw.HashTableV2(key_dtype=tf.int64, value_dtype=tf.string, shared_name="numbers")
    results = in_order(
        lambda: raw.InitializeTableFromTextFileV2(
            table_handle=table, filename=path, key_index=0, value_index=1, delimiter=" "
        ),
        lambda: raw.InitializeTableFromTextFileV2(
            table_handle=numbers, filename=path, key_index=-1, value_index=-2, vocab_size=2, offset=5
        ),
        lambda: raw.LookupTableFindV2(table_handle=table, keys=KEYS, default_value=np.int64(-1)),
        lambda: raw.LookupTableFindV2(table_handle=numbers, keys=np.array([5, 6, 7]), default_value=b"none"),
    )
    return results[2:]


def arrays(x):
    """Written and read one by one, with TensorFlow's gradient."""
    handle, flow = raw.TensorArrayV3(size=3, dtype=tf.float32, element_shape=[2], clear_after_read=False)
    for i in range(3):
        flow = raw.TensorArrayWriteV3(handle=handle, index=i, value=tf.tanh(x[i]) * x[0], flow_in=flow)
    first = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
    both = raw.TensorArrayGatherV3(handle=handle, indices=[2, 0], flow_in=flow, dtype=tf.float32, element_shape=[2])
    return [first, both, raw.TensorArraySizeV3(handle=handle, flow_in=flow)]


def whole_arrays(x):
    handle, flow = raw.TensorArrayV3(size=3, dtype=tf.float32, clear_after_read=False)
    flow = raw.TensorArrayScatterV3(handle=handle, indices=[1, 2, 0], value=tf.sin(x), flow_in=flow)
    joined, lengths = raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32)
    pieces, flow = raw.TensorArrayV3(size=2, dtype=tf.float32, clear_after_read=False)
    flow = raw.TensorArraySplitV3(handle=pieces, value=x * x, lengths=np.array([1, 2]), flow_in=flow)
    return [joined, lengths, raw.TensorArrayReadV3(handle=pieces, index=1, flow_in=flow, dtype=tf.float32)]


def older_stacks(x):
    stack = raw.Stack(elem_type=tf.float32)
    results = in_order(
        lambda: raw.StackPush(handle=stack, elem=x),
        lambda: raw.StackPush(handle=stack, elem=x[1]),
        lambda: raw.StackPop(handle=stack, elem_type=tf.float32),
    )
    return results


def stacks(x):
    stack = raw.StackV2(max_size=-1, elem_type=tf.float32)
    results = in_order(
        lambda: raw.StackPushV2(handle=stack, elem=x),
        lambda: raw.StackPushV2(handle=stack, elem=x[1]),
        lambda: raw.StackPopV2(handle=stack, elem_type=tf.float32),
        lambda: raw.StackPopV2(handle=stack, elem_type=tf.float32),
    )
    return results


@support.needs_panto
class Tables(unittest.TestCase):
    def compare(self, function, graph, outputs, feeds):
        with graph.as_default():
            named = [tf.identity(t, name=f"out_{i}") for i, t in enumerate(outputs)]
        definition, fetches = graph.as_graph_def(), [t.op.name for t in named]
        expected = support.run_graph_def(definition, feeds, fetches)
        with support.saved(definition) as path:
            actual = support.panto_run(path, feeds, fetches)
        for name in fetches:
            support.assert_same(self, actual[name], expected[name], f"{function.__name__} {name}")

    def same(self, function, *arguments):
        graph = tf.Graph()
        with graph.as_default():
            outputs = function(*arguments)
        self.compare(function, graph, outputs, {})

    def same_with_gradient(self, function, differentiable=True):
        graph = tf.Graph()
        tf1.disable_control_flow_v2()  # TensorFlow's gradients of arrays are from before
        try:
            with graph.as_default():
                x = tf1.placeholder(tf.float32, [3, 2], name="x")
                outputs = function(x)
                squares = [y * y for y in outputs if y.dtype == tf.float32]
                gradients = tf1.gradients(squares, [x]) if differentiable else []
        finally:
            tf1.enable_control_flow_v2()
        self.compare(function, graph, [*outputs, *gradients], {"x": F4([[0.3, -0.7], [1.1, 0.2], [-0.4, 0.9]])})
        return len(gradients)

    def test_fixed(self):
        self.same(fixed)

    def test_with_references(self):
        self.same(with_references)

    def test_changed(self):
        self.same(changed)

    def test_of_tensors(self):
        self.same(of_tensors)

    def test_from_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "words.txt"
            path.write_text("a 7\nb 8\nc 9\n")
            self.same(from_file, str(path))

    def test_arrays(self):
        self.assertEqual(self.same_with_gradient(arrays), 1)

    def test_whole_arrays(self):
        self.assertEqual(self.same_with_gradient(whole_arrays), 1)

    def test_older_stacks(self):
        self.same_with_gradient(older_stacks, differentiable=False)

    def test_stacks(self):
        self.same_with_gradient(stacks, differentiable=False)


if __name__ == "__main__":
    support.main()
