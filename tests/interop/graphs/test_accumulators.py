"""Graphs with accumulators, barriers, staging areas, mutexes, dense tables, updates of parts of variables and old ops on
lists, built in TensorFlow, run by `panto run` and compared."""

import unittest

import numpy as np
import support
import tensorflow as tf
from test_readers import in_order

raw, tf1 = tf.raw_ops, tf.compat.v1


def floats(*values):
    return tf.constant(values, tf.float32)


def dense(resources, reduction, dtype=tf.float32):
    pre = "Resource" if resources else ""
    make = getattr(raw, pre + "ConditionalAccumulator")
    apply_, take = getattr(raw, pre + "AccumulatorApplyGradient"), getattr(raw, pre + "AccumulatorTakeGradient")
    set_step, count = getattr(raw, pre + "AccumulatorSetGlobalStep"), getattr(raw, pre + "AccumulatorNumAccumulated")
    handle = make(dtype=dtype, shape=[2], reduction_type=reduction)
    gradient = lambda step, *values: lambda: apply_(
        handle=handle, local_step=step, gradient=tf.constant(values, dtype)
    )
    counted = lambda: [count(handle=handle)]
    taken = lambda n: lambda: [take(handle=handle, num_required=n, dtype=dtype)]
    results = in_order(
        gradient(0, 1.25, 2), gradient(0, 3, 6), gradient(5, 7, 7.5), counted, taken(2), counted,
        gradient(0, 9, 9), counted, gradient(1, 2, 2), lambda: set_step(handle=handle, new_global_step=4),
        gradient(3, 1, 1), gradient(4, 5, 3), counted, taken(1), gradient(4, 1, 1), counted,
    )
    return [t for result in results if isinstance(result, list) for t in result]


def sparse(reduction, shape):
    handle = raw.SparseConditionalAccumulator(dtype=tf.float32, shape=shape, reduction_type=reduction)

    def gradient(step, indices, values, shape=()):
        return lambda: raw.SparseAccumulatorApplyGradient(
            handle=handle, local_step=step, gradient_indices=tf.constant(indices, tf.int64),
            gradient_values=tf.constant(values, tf.float32), gradient_shape=tf.constant(shape, tf.int64),
            has_known_shape=len(shape) > 0,
        )

    take = lambda n: lambda: list(
        raw.SparseAccumulatorTakeGradient(handle=handle, num_required=n, dtype=tf.float32)
    )
    count = lambda: [raw.AccumulatorNumAccumulated(handle=handle)]
    results = in_order(
        gradient(0, [0, 2], [[1, 2], [3, 4]]), gradient(0, [1, 2, 3], [[5, 6], [7, 8], [9, 9]], (4, 2)),
        gradient(0, [2], [[1, 1]]), count, take(3), gradient(0, [0], [[1, 1]]),
        lambda: raw.AccumulatorSetGlobalStep(handle=handle, new_global_step=1),
        gradient(1, [3, 1], [[1, 1], [2, 2]]), gradient(1, [1], [[4, 4]]), count, take(1),
    )
    return [t for result in results if isinstance(result, list) for t in result]


def barrier():
    types = [tf.float32, tf.string]
    handle = raw.Barrier(component_types=types, shapes=[[2], []])
    put = lambda keys, values, k: lambda: raw.BarrierInsertMany(
        handle=handle, keys=keys, values=values, component_index=k
    )
    ready = lambda: [raw.BarrierReadySize(handle=handle)]
    incomplete = lambda: [raw.BarrierIncompleteSize(handle=handle)]

    def take(n, small=False):
        def taken():
            t = raw.BarrierTakeMany(handle=handle, num_elements=n, component_types=types, allow_small_batch=small)
            return [t.indices, t.keys, *t.values]

        return taken

    results = in_order(
        put(["k"], [[1.0, 2.0]], 0), put(["m", "n"], ["mm", "nn"], 1), incomplete, ready, put(["k"], ["kk"], 1),
        put(["n"], [[5.0, 6.0]], 0), ready, take(1), put(["m"], [[3.0, 4.0]], 0), put(["o"], ["oo"], 1), ready,
        take(1), lambda: raw.BarrierClose(handle=handle), incomplete, take(5, True),
        put(["o"], [[7.0, 8.0]], 0), take(1), ready,
    )
    return [t for result in results if isinstance(result, list) for t in result]


def staging():
    types, name = [tf.float32, tf.string], "area"
    put = lambda x, s: lambda: raw.Stage(values=[floats(x), tf.constant(s)], shared_name=name)
    size = lambda: [raw.StageSize(dtypes=types, shared_name=name)]
    results = in_order(
        put(1.0, "a"), put(2.0, "b"), put(3.0, "c"), size,
        lambda: raw.StagePeek(index=1, dtypes=types, shared_name=name),
        lambda: raw.Unstage(dtypes=types, shared_name=name), size,
        lambda: raw.StageClear(dtypes=types, shared_name=name), size,
    )
    return [t for result in results if isinstance(result, list) for t in result]


def staging_by_keys(pre):
    types, name = [tf.float32, tf.string], f"map{pre}"
    op = lambda kind: getattr(raw, f"{pre}Map{kind}")
    key = lambda k: tf.constant(k, tf.int64)
    put = lambda k, indices, *values: lambda: op("Stage")(
        key=key(k), indices=indices, values=list(values), dtypes=types, shared_name=name
    )
    size = lambda: [op("Size")(dtypes=types, shared_name=name)]
    incomplete = lambda: [op("IncompleteSize")(dtypes=types, shared_name=name)]
    get = lambda kind, k, indices: lambda: op(kind)(
        key=key(k), indices=indices, dtypes=[types[i] for i in indices], shared_name=name
    )

    def any_key():
        t = op("UnstageNoKey")(indices=[0, 1], dtypes=types, shared_name=name)
        return [t.key, *t.values]

    steps = [
        put(7, [0, 1], floats(7.0), tf.constant("seven")), put(3, [1], tf.constant("three")), size, incomplete,
        put(3, [0], floats(3.0)), size, get("Peek", 3, [0, 1]), get("Unstage", 7, [1]), size, get("Unstage", 7, [0]),
        size, any_key, put(1, [1], tf.constant("one")), lambda: op("Clear")(dtypes=types, shared_name=name),
        incomplete, size,
    ]
    if pre:
        steps += [put(k, [0, 1], floats(float(k)), tf.constant("x")) for k in (5, -2, 9)] + [any_key] * 3
    results = in_order(*steps)
    return [t for result in results if isinstance(result, list) for t in result]


def mutex():
    handle = raw.MutexV2(shared_name="m")
    results = []
    before = []
    for i in range(3):
        with tf.control_dependencies(before):
            lock = raw.MutexLock(mutex=handle)
        with tf.control_dependencies([lock.op]):
            value = tf.constant(i) + 1
        with tf.control_dependencies([value.op]):
            before = [raw.ConsumeMutexLock(mutex_lock=lock)]
        results.append(value)
    with tf.control_dependencies(before):
        return [tf.identity(v) for v in results]


def dense_table():
    handle = raw.MutableDenseHashTableV2(
        empty_key=tf.constant(0, tf.int64), deleted_key=tf.constant(-1, tf.int64), value_dtype=tf.float32, value_shape=[2]
    )
    keys = tf.constant([5, 7, 9, 7], tf.int64)
    find = lambda: [raw.LookupTableFindV2(table_handle=handle, keys=tf.constant([7, 9, 1], tf.int64), default_value=floats(-1, -1))]
    size = lambda: [raw.LookupTableSizeV2(table_handle=handle)]
    results = in_order(
        lambda: raw.LookupTableInsertV2(table_handle=handle, keys=keys, values=tf.reshape(tf.range(8.0), [4, 2])),
        size, find, lambda: raw.LookupTableRemoveV2(table_handle=handle, keys=tf.constant([9, 4], tf.int64)), size, find,
    )
    return [t for result in results if isinstance(result, list) for t in result]


def dense_table_of_vectors():
    pair = lambda *v: tf.constant(v, tf.int64)
    handle = raw.AnonymousMutableDenseHashTable(
        empty_key=pair(0, 0), deleted_key=pair(-1, -1), value_dtype=tf.int64, value_shape=[]
    )
    results = in_order(
        lambda: raw.LookupTableInsertV2(table_handle=handle, keys=[pair(1, 2), pair(3, 4)], values=pair(1, 2)),
        lambda: [raw.LookupTableFindV2(table_handle=handle, keys=[pair(3, 4), pair(2, 1)], default_value=tf.constant(-1, tf.int64))],
    )
    return results[1]


def old_lists():
    handle = raw.TensorListFromTensor(
        tensor=tf.reshape(tf.range(12.0), [3, 2, 2]), element_shape=tf.constant([2, 2])
    )
    known = raw.TensorListConcat(input_handle=handle, element_dtype=tf.float32, element_shape=[2, 2])
    scattered = raw.TensorListScatter(
        tensor=tf.reshape(tf.range(4.0), [2, 2]), indices=[2, 0], element_shape=tf.constant([2])
    )
    stacked = lambda h, shape: raw.TensorListStack(
        input_handle=h, element_shape=tf.constant(shape, tf.int32), element_dtype=tf.float32
    )
    both = raw.TensorListConcatLists(input_a=handle, input_b=handle, element_dtype=tf.float32)
    pushed = raw.TensorListPushBackBatch(
        input_handles=tf.stack([scattered, scattered]), tensor=tf.reshape(tf.range(4.0), [2, 2])
    )
    return [
        *known, stacked(scattered, [2]), stacked(both, [2, 2]), stacked(pushed[0], [2]), stacked(pushed[1], [2]),
    ]


def parts_of_variables():
    results = []
    before = []
    rows, updates = tf.constant([2, 0, 2]), tf.reshape(tf.range(1.0, 7.0), [3, 2])
    for op in ("Mul", "Div", "Max", "Min"):
        v = raw.VarHandleOp(dtype=tf.float32, shape=[3, 2], shared_name=op)
        results += in_order(
            lambda: raw.AssignVariableOp(resource=v, value=tf.reshape(tf.range(3.0, 9.0), [3, 2])),
            lambda: getattr(raw, f"ResourceScatter{op}")(resource=v, indices=rows, updates=updates),
            lambda: [raw.ReadVariableOp(resource=v, dtype=tf.float32)],
        )[2]
    positions, values = tf.constant([[2, 1], [0, 0], [2, 1]]), floats(10, -20, 5)
    for op in ("Update", "Add", "Sub", "Max", "Min"):
        v = raw.VarHandleOp(dtype=tf.float32, shape=[3, 2], shared_name=f"nd{op}")
        steps = in_order(
            lambda: raw.AssignVariableOp(resource=v, value=tf.reshape(tf.range(3.0, 9.0), [3, 2])),
            lambda: getattr(raw, f"ResourceScatterNd{op}")(ref=v, indices=positions, updates=values),
            lambda: [raw.ReadVariableOp(resource=v, dtype=tf.float32)],
            lambda: [raw.ResourceGatherNd(resource=v, indices=positions, dtype=tf.float32)],
        )
        results += steps[2] + steps[3]
    return results


def counts():
    v = raw.VarHandleOp(dtype=tf.int32, shape=[], shared_name="counter")
    steps = in_order(
        lambda: raw.AssignVariableOp(resource=v, value=3),
        lambda: raw.DisableCopyOnRead(resource=v),
        lambda: [raw.ResourceCountUpTo(resource=v, limit=9, T=tf.int32)],
        lambda: [raw.ResourceCountUpTo(resource=v, limit=9, T=tf.int32)],
        lambda: [raw.ReadVariableOp(resource=v, dtype=tf.int32), raw.VariableShape(input=v, out_type=tf.int64)],
    )
    reference = raw.VariableV2(dtype=tf.int32, shape=[], shared_name="old_counter")
    with tf.control_dependencies([raw.Assign(ref=reference, value=3).op]):
        old = raw.CountUpTo(ref=reference, limit=9)
    with tf.control_dependencies([old.op]):
        read = tf.identity(raw.RefIdentity(input=reference))
    return [t for step in steps if isinstance(step, list) for t in step] + [old, read]


def parts_of_references():
    results = []
    rows, updates = tf.constant([2, 0, 2]), tf.reshape(tf.range(1.0, 7.0), [3, 2])
    positions, values = tf.constant([[2, 1], [0, 0], [2, 1]]), floats(10, -20, 5)
    for op in ("Mul", "Div", "Max", "Min", "NdUpdate", "NdAdd", "NdSub", "NdMax", "NdMin"):
        v = raw.VariableV2(dtype=tf.float32, shape=[3, 2], shared_name=f"ref{op}")
        nd = op.startswith("Nd")
        with tf.control_dependencies([raw.Assign(ref=v, value=tf.reshape(tf.range(3.0, 9.0), [3, 2])).op]):
            changed = getattr(raw, f"Scatter{op}")(
                ref=v, indices=positions if nd else rows, updates=values if nd else updates
            )
        results.append(tf.identity(changed))
    return results


@support.needs_panto
class States(unittest.TestCase):
    def same(self, function, *arguments):
        graph = tf.Graph()
        with graph.as_default():
            named = [tf.identity(t, name=f"out_{i}") for i, t in enumerate(function(*arguments))]
        definition, fetches = graph.as_graph_def(), [t.op.name for t in named]
        expected = support.run_graph_def(definition, {}, fetches)
        with support.saved(definition) as path:
            actual = support.panto_run(path, {}, fetches)
        for name in fetches:
            support.assert_same(self, actual[name], expected[name], f"{function.__name__} {arguments} {name}")

    def test_accumulators(self):
        for resources in (False, True):
            for reduction in ("MEAN", "SUM"):
                for dtype in (tf.float32, tf.float64, tf.float16):
                    self.same(dense, resources, reduction, dtype)

    def test_accumulators_of_rows(self):
        for reduction in ("MEAN", "SUM"):
            for shape in ([4, 2], [None, 2], None):
                self.same(sparse, reduction, tf.TensorShape(shape))

    def test_barriers(self):
        self.same(barrier)

    def test_staging(self):
        self.same(staging)

    def test_staging_by_keys(self):
        for pre in ("", "Ordered"):
            self.same(staging_by_keys, pre)

    def test_mutexes(self):
        self.same(mutex)

    def test_dense_tables(self):
        self.same(dense_table)
        self.same(dense_table_of_vectors)

    def test_old_lists(self):
        self.same(old_lists)

    def test_parts_of_variables(self):
        self.same(parts_of_variables)
        self.same(parts_of_references)
        self.same(counts)


if __name__ == "__main__":
    support.main()
