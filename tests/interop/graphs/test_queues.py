"""Graphs with queues, built in TensorFlow, run by `panto run` and compared: what comes out, and in which order."""

import unittest

import numpy as np
import support
import tensorflow as tf

tf1, raw = tf.compat.v1, tf.raw_ops
TYPES, SHAPES = [tf.float32, tf.string], [[2], []]


def elements(count):
    return [tf.reshape(tf.range(2.0 * count), [count, 2]), tf.constant([b"%d" % i for i in range(count)])]


def in_order(*steps):
    """Calls each of them once the one before has run; their results."""
    results, before = [], []
    for step in steps:
        with tf.control_dependencies(before):
            result = step()
        results.append(result)
        before = [result if isinstance(result, tf.Operation) else result[0].op]
    return results


def first_in_first_out(old=False):
    kind = {"component_types": TYPES, "shapes": SHAPES}
    if old:
        queue = raw.FIFOQueue(**kind)
        many, one, some, size = raw.QueueEnqueueMany, raw.QueueEnqueue, raw.QueueDequeueMany, raw.QueueSize
        single, close, rest = raw.QueueDequeue, raw.QueueClose, raw.QueueDequeueUpTo
    else:
        queue = raw.FIFOQueueV2(**kind)
        many, one, some, size = raw.QueueEnqueueManyV2, raw.QueueEnqueueV2, raw.QueueDequeueManyV2, raw.QueueSizeV2
        single, close, rest = raw.QueueDequeueV2, raw.QueueCloseV2, raw.QueueDequeueUpToV2
    results = in_order(
        lambda: many(handle=queue, components=elements(5)),
        lambda: one(handle=queue, components=[tf.constant([7.0, 8.0]), tf.constant(b"x")]),
        lambda: some(handle=queue, n=3, component_types=TYPES),
        lambda: single(handle=queue, component_types=TYPES),
        lambda: [size(handle=queue)],
        lambda: close(handle=queue),
        lambda: rest(handle=queue, n=9, component_types=TYPES),
    )
    return [*results[2], *results[3], *results[4], *results[6]]


def with_references():
    return first_in_first_out(old=True)


def in_random_order():
    queue = raw.RandomShuffleQueueV2(component_types=TYPES, shapes=SHAPES, seed=17, seed2=-4, min_after_dequeue=2)
    results = in_order(
        lambda: raw.QueueEnqueueManyV2(handle=queue, components=elements(20)),
        lambda: raw.QueueDequeueManyV2(handle=queue, n=7, component_types=TYPES),
        lambda: raw.QueueEnqueueManyV2(handle=queue, components=elements(3)),
        lambda: raw.QueueDequeueV2(handle=queue, component_types=TYPES),
        lambda: raw.QueueCloseV2(handle=queue),
        lambda: raw.QueueDequeueManyV2(handle=queue, n=15, component_types=TYPES),
    )
    return [*results[1], *results[3], *results[5]]


def padded():
    queue = raw.PaddingFIFOQueueV2(component_types=[tf.int64], shapes=[tf.TensorShape([None, 2])])
    rows = [np.ones((3, 2), np.int64), 2 * np.ones((1, 2), np.int64), 3 * np.ones((2, 2), np.int64)]
    results = in_order(
        *[lambda row=row: raw.QueueEnqueueV2(handle=queue, components=[tf.constant(row)]) for row in rows],
        lambda: raw.QueueDequeueManyV2(handle=queue, n=3, component_types=[tf.int64]),
    )
    return results[3]


def by_priority():
    queue = raw.PriorityQueueV2(component_types=[tf.string], shapes=[[]])
    types = [tf.int64, tf.string]
    results = in_order(
        lambda: raw.QueueEnqueueManyV2(
            handle=queue, components=[tf.constant([5, -1, 2, 9], tf.int64), tf.constant([b"a", b"b", b"c", b"d"])]
        ),
        lambda: raw.QueueDequeueManyV2(handle=queue, n=4, component_types=types),
    )
    return results[1]


@support.needs_panto
class Queues(unittest.TestCase):
    def same(self, function):
        graph = tf.Graph()
        with graph.as_default():
            named = [tf.identity(t, name=f"out_{i}") for i, t in enumerate(function())]
        definition, fetches = graph.as_graph_def(), [t.op.name for t in named]
        expected = support.run_graph_def(definition, {}, fetches)
        with support.saved(definition) as path:
            actual = support.panto_run(path, {}, fetches)
        for name in fetches:
            support.assert_same(self, actual[name], expected[name], f"{function.__name__} {name}")

    def test_first_in_first_out(self):
        self.same(first_in_first_out)

    def test_with_references(self):
        self.same(with_references)

    def test_in_random_order(self):
        self.same(in_random_order)

    def test_padded(self):
        self.same(padded)

    def test_by_priority(self):
        self.same(by_priority)


if __name__ == "__main__":
    support.main()
