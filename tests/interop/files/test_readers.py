"""Graphs with readers, built in TensorFlow, run by `panto run` and compared; and files of records, written there."""

import pathlib
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf

raw = tf.raw_ops


def in_order(*steps):
    """Calls each of them once the one before has run; their results."""
    results, before = [], []
    for step in steps:
        with tf.control_dependencies(before):
            result = step()
        results.append(result)
        before = [result if isinstance(result, tf.Operation) else result[0].op]
    return results


OPS = {
    "queue": raw.FIFOQueueV2,
    "put": raw.QueueEnqueueManyV2,
    "close": raw.QueueCloseV2,
    "read": raw.ReaderReadV2,
    "read_up_to": raw.ReaderReadUpToV2,
    "produced": raw.ReaderNumRecordsProducedV2,
    "completed": raw.ReaderNumWorkUnitsCompletedV2,
    "state": raw.ReaderSerializeStateV2,
    "restore": raw.ReaderRestoreStateV2,
    "reset": raw.ReaderResetV2,
    "whole": raw.WholeFileReaderV2,
    "lines": raw.TextLineReaderV2,
    "fixed": raw.FixedLengthRecordReaderV2,
    "records": raw.TFRecordReaderV2,
    "identity": raw.IdentityReaderV2,
}


def with_references(definition):
    """The graph with the older ops, whose handles are references. TensorFlow does not make these any more."""
    old = type(definition)()
    old.CopyFrom(definition)
    for node in old.node:
        if node.op.endswith("V2") and any(word in node.op for word in ("Reader", "Queue")):
            node.op = node.op.removesuffix("V2")
            node.attr.pop("encoding", None)
    return old


def reads(make_reader, names, count):
    """`count` records, then the counts, of a reader of the files `names`."""
    queue = OPS["queue"](component_types=[tf.string], shapes=[[]])
    reader = make_reader()
    results = in_order(
        lambda: OPS["put"](handle=queue, components=[tf.constant(names)]),
        *[lambda: OPS["read"](reader_handle=reader, queue_handle=queue)] * count,
        lambda: [OPS["produced"](reader_handle=reader)],
        lambda: [OPS["completed"](reader_handle=reader)],
    )
    return [t for result in results[1:] for t in result]


@support.needs_panto
class Readers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def same(self, build, expect_error=None):
        graph = tf.Graph()
        with graph.as_default():
            named = [tf.identity(t, name=f"out_{i}") for i, t in enumerate(build())]
        definition, fetches = graph.as_graph_def(), [t.op.name for t in named]
        if expect_error is not None:
            with self.assertRaises(expect_error):
                support.run_graph_def(definition, {}, fetches)
            with support.saved(definition) as path:
                fetched = [word for name in fetches for word in ("--fetch", name)]
                return support.panto_fails("run", path, *fetched)
        expected = support.run_graph_def(definition, {}, fetches)
        for written in (definition, with_references(definition)):
            with support.saved(written) as path:
                actual = support.panto_run(path, {}, fetches)
            for name in fetches:
                support.assert_same(self, actual[name], expected[name], name)

    def each(self, make_reader, names, count):
        self.same(lambda: reads(make_reader, names, count))

    def test_identity(self):
        self.each(lambda: OPS["identity"](), ["a", "b", "c"], 2)

    def test_whole_files(self):
        names = [self.file("a", b"one\ntwo"), self.file("b", b""), self.file("c", b"x\0y")]
        self.each(lambda: OPS["whole"](), names, 3)

    def test_lines(self):
        names = [self.file("a", b"one\r\n\n two\r"), self.file("b", b""), self.file("c", b"x\ny\nz"), self.file("d", b"\r")]
        self.each(lambda: OPS["lines"](), names, 6)
        self.each(lambda: OPS["lines"](skip_header_lines=2), names, 2)

    def test_records_of_one_length(self):
        names = [self.file("a", b"HHabcdefghFF"), self.file("b", b"HHab"), self.file("c", b"HHabcdFF")]
        for attrs, count in [
            ({}, 5),
            ({"header_bytes": 2}, 3),
            ({"header_bytes": 2, "footer_bytes": 2}, 3),
            ({"header_bytes": 1, "hop_bytes": 2}, 5),
            ({"header_bytes": 1, "footer_bytes": 1, "hop_bytes": 4}, 2),
            ({"hop_bytes": 5}, 3),
        ]:
            self.each(lambda attrs=attrs: OPS["fixed"](record_bytes=3, **attrs), names, count)

    def test_compressed_records_of_one_length(self):
        import gzip
        import zlib

        names = {"GZIP": self.file("g", gzip.compress(b"Habcdef")), "ZLIB": self.file("z", zlib.compress(b"Habcdef"))}
        for encoding, name in names.items():
            graph = tf.Graph()
            with graph.as_default():  # the older op has no such attribute
                out = reads(lambda e=encoding: OPS["fixed"](record_bytes=2, header_bytes=1, encoding=e), [name], 3)
                fetches = [tf.identity(t, name=f"out_{i}").op.name for i, t in enumerate(out)]
            expected = support.run_graph_def(graph.as_graph_def(), {}, fetches)
            with support.saved(graph.as_graph_def()) as path:
                actual = support.panto_run(path, {}, fetches)
            for fetch in fetches:
                support.assert_same(self, actual[fetch], expected[fetch], fetch)

    def test_record_files(self):
        for compression in ("", "ZLIB", "GZIP"):
            name = str(self.folder / f"records{compression}")
            with tf.io.TFRecordWriter(name, compression) as writer:
                for record in (b"one", b"", b"x" * 5000):
                    writer.write(record)
            self.each(lambda c=compression: OPS["records"](compression_type=c), [name, name], 5)

    def test_damaged_record_files(self):
        name = str(self.folder / "records")
        with tf.io.TFRecordWriter(name) as writer:
            writer.write(b"one")
        good = pathlib.Path(name).read_bytes()
        for content in (good[:-1], good[:14], good[:12] + b"X" + good[13:], b"X" + good[1:]):
            damaged = self.file("damaged", content)
            message = self.same(
                lambda damaged=damaged: reads(lambda: OPS["records"](), [damaged], 1), tf.errors.DataLossError
            )
            self.assertIn("DataLoss: ", message)
            self.assertIn(damaged, message)

    def test_several_at_a_time(self):
        names = [self.file("a", b"1\n2\n3\n"), self.file("b", b"4\n5\n"), self.file("c", b"6\n")]

        def build():
            queue = OPS["queue"](component_types=[tf.string], shapes=[[]])
            reader = OPS["lines"]()
            many = lambda n: lambda: OPS["read_up_to"](reader_handle=reader, queue_handle=queue, num_records=n)
            results = in_order(
                lambda: OPS["put"](handle=queue, components=[tf.constant(names)]),
                many(2), many(2), many(2), many(0), many(9),
                lambda: [OPS["produced"](reader_handle=reader)],
                lambda: [OPS["completed"](reader_handle=reader)],
            )
            return [t for result in results[1:] for t in result]

        self.same(build)

    def test_states(self):
        def build(kind):
            queue = OPS["queue"](component_types=[tf.string], shapes=[[]])
            reader, other = OPS[kind](), OPS[kind]()
            read = lambda of: lambda: OPS["read"](reader_handle=of, queue_handle=queue)
            results = in_order(
                lambda: OPS["put"](handle=queue, components=[tf.constant([self.file("a", b"x")] * 4)]),
                read(reader),
                read(reader),
                lambda: [OPS["state"](reader_handle=reader)],
            )
            state = results[3][0]
            more = in_order(
                lambda: OPS["restore"](reader_handle=other, state=state),
                lambda: [OPS["produced"](reader_handle=other)],
                read(other),
                lambda: [OPS["state"](reader_handle=other)],
                lambda: OPS["reset"](reader_handle=other),
                lambda: [OPS["completed"](reader_handle=other)],
            )
            return [state, *more[1], *more[2], *more[3], *more[5]]

        for kind in ("identity", "whole"):
            self.same(lambda kind=kind: build(kind))

    def test_the_end(self):
        def build():
            queue = raw.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
            reader = raw.IdentityReaderV2()
            results = in_order(
                lambda: raw.QueueCloseV2(handle=queue), lambda: raw.ReaderReadV2(reader_handle=reader, queue_handle=queue)
            )
            return results[1]

        self.assertIn("OutOfRange: ", self.same(build, tf.errors.OutOfRangeError))

    def test_files_are_refused(self):
        name = self.file("a", b"secret")
        graph = tf.Graph()
        with graph.as_default():
            results = reads(lambda: OPS["whole"](), [name], 1)
            tf.identity(results[1], name="out")
        with support.saved(graph.as_graph_def()) as path:
            self.assertEqual(support.panto_run(path, {}, ["out"])["out"], b"secret")
            error = support.panto_fails("run", path, "--no-files", "--fetch", "out")
        self.assertIn("PermissionDenied: file '", error)


if __name__ == "__main__":
    support.main()
