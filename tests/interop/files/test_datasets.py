"""Graphs with datasets and iterators, written by tf.data, run by `panto run` and compared."""

import gzip
import pathlib
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf
from tensorflow.python.data.experimental.ops.matching_files import MatchingFilesDataset

tf1, raw, data = tf.compat.v1, tf.raw_ops, tf.compat.v1.data
F4 = np.float32


def numbers(count):
    return data.Dataset.range(count)


def rows():
    return data.Dataset.from_tensor_slices((np.arange(12, dtype=F4).reshape(6, 2), [b"a", b"b", b"c", b"d", b"e", b"f"]))


def ragged(count=7):
    return numbers(count).map(lambda i: tf.range(i % 4))


def offset():
    """What functions take besides elements."""
    return tf.constant(10, tf.int64) * 2


def windows(dataset):
    return dataset.flat_map(lambda window: window.batch(3))


def sparse_parts(dataset):
    return dataset.map(lambda t: (t.indices, t.values, t.dense_shape))


def examples():
    def example(i):
        features = {"dense": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i / 2]))}
        if i != 2:
            features["a list"] = tf.train.Feature(int64_list=tf.train.Int64List(value=range(i)))
            features["words"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x" * i]))
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    return [example(i) for i in range(5)]


def parsed(calls):
    features = {
        "words": tf.io.FixedLenFeature([], tf.string, b"none"),
        "a list": tf.io.VarLenFeature(tf.int64),
        "dense": tf.io.FixedLenFeature([2], tf.float32),
    }

    def parts(features):
        t = features["a list"]
        return t.indices, t.values, t.dense_shape, features["dense"], features["words"]

    return lambda dataset: dataset.apply(
        tf.data.experimental.parse_example_dataset(features, num_parallel_calls=calls)
    ).map(parts)


def parsed_ragged(dataset):
    features = {
        "words": tf.io.RaggedFeature(tf.string, row_splits_dtype=tf.int64),
        "a list": tf.io.RaggedFeature(tf.int64),
        "dense": tf.io.FixedLenFeature([2], tf.float32),
    }

    def parts(features):
        a, b = features["a list"], features["words"]
        return a.values, a.row_splits, b.values, b.row_splits, features["dense"]

    return dataset.apply(tf.data.experimental.parse_example_dataset(features)).map(parts)


# What each makes is one dataset, all elements of which are compared.
DATASETS = {
    "range": lambda: numbers(5),
    "range_from": lambda: data.Dataset.range(10, 1, -3),
    "range_of_type": lambda: data.Dataset.range(3, output_type=tf.float32),
    "tensors": lambda: data.Dataset.from_tensors((np.ones((2, 3), F4), b"x")),
    "slices": rows,
    "batch": lambda: rows().batch(4),
    "batch_dropped": lambda: rows().batch(4, drop_remainder=True),
    "batch_of_batches": lambda: numbers(12).batch(2).batch(3),
    "map": lambda: rows().map(lambda x, s: (tf.reduce_sum(x) * 2, s + b"!", x[::-1])),
    "map_captured": lambda: (lambda more: numbers(4).map(lambda i: i + more))(offset()),
    "map_in_parallel": lambda: numbers(9).map(lambda i: i * i, num_parallel_calls=3),
    "map_chosen": lambda: numbers(6).map(lambda i: tf.cond(tf.equal(i % 2, 0), lambda: i * 10, lambda: -i)),
    "map_looped": lambda: numbers(5).map(lambda i: tf.while_loop(lambda n, s: n > 0, lambda n, s: [n - 1, s + n], [i, i])),
    "repeat": lambda: numbers(3).repeat(3),
    "repeat_without_end": lambda: numbers(3).repeat().take(8),
    "repeat_nothing_without_end": lambda: numbers(0).repeat(),
    "take": lambda: numbers(5).take(3),
    "take_more": lambda: numbers(5).take(-1),
    "skip": lambda: numbers(5).skip(2),
    "skip_all": lambda: numbers(5).skip(-1),
    "shuffle": lambda: numbers(20).shuffle(7, seed=3),
    "shuffle_all": lambda: numbers(20).shuffle(100, seed=3),
    "shuffle_again": lambda: numbers(5).shuffle(4, seed=3).repeat(3),
    "shuffle_the_same": lambda: numbers(5).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(3),
    "shuffle_and_repeat": lambda: numbers(5).apply(tf.data.experimental.shuffle_and_repeat(8, count=3, seed=5)),
    "shuffle_and_repeat_on": lambda: numbers(3).apply(tf.data.experimental.shuffle_and_repeat(2, seed=5)).take(20),
    "random": lambda: data.experimental.RandomDataset(seed=7).take(5),
    "zip": lambda: data.Dataset.zip((numbers(4), rows())),
    "concatenate": lambda: numbers(2).concatenate(data.Dataset.range(5, 8)),
    "filter": lambda: numbers(10).filter(lambda i: i % 3 == 1),
    "flat_map": lambda: numbers(4).flat_map(lambda i: data.Dataset.range(i)),
    "flat_map_nested": lambda: numbers(3).flat_map(
        lambda i: data.Dataset.range(i).flat_map(lambda j: data.Dataset.from_tensors((i, j)).repeat(2))
    ),
    "interleave": lambda: numbers(5).interleave(
        lambda i: data.Dataset.range(10 * i, 10 * i + i), cycle_length=3, block_length=2, num_parallel_calls=None
    ),
    "interleave_in_parallel": lambda: numbers(7).interleave(
        lambda i: data.Dataset.range(10 * i, 10 * i + 5 - i % 4), cycle_length=3, block_length=2, num_parallel_calls=2
    ),
    "interleave_as_it_was": lambda: numbers(7).apply(
        tf.data.experimental.parallel_interleave(lambda i: data.Dataset.range(10 * i, 10 * i + 4), cycle_length=2)
    ),
    "padded_batch": lambda: ragged().padded_batch(3, padded_shapes=[None]),
    "padded_batch_to": lambda: ragged().padded_batch(2, padded_shapes=[5], padding_values=tf.constant(-1, tf.int64)),
    "padded_batch_dropped": lambda: ragged().padded_batch(3, padded_shapes=[None], drop_remainder=True),
    "padded_batch_of_strings": lambda: ragged()
    .map(lambda x: (tf.as_string(x), tf.cast(x, tf.float32)[:, None] * [[1.0, 2.0]]))
    .padded_batch(4, ([None], [None, 3]), ("-", 0.5)),
    "prefetch": lambda: numbers(4).prefetch(2),
    "map_and_batch": lambda: numbers(7).apply(tf.data.experimental.map_and_batch(lambda i: (i, i * 2), 3)),
    "parallel_batch": lambda: numbers(7).batch(3, num_parallel_calls=2),
    "cache": lambda: numbers(3).shuffle(3, seed=1).cache().repeat(3),
    "shard": lambda: numbers(10).shard(3, 1),
    "window": lambda: windows(numbers(7).window(3)),
    "window_shifted": lambda: windows(numbers(11).window(3, shift=2, stride=2)),
    "window_far": lambda: windows(numbers(11).window(2, shift=4)),
    "window_dropped": lambda: windows(numbers(11).window(3, shift=2, stride=2, drop_remainder=True)),
    "unbatch": lambda: rows().batch(4).unbatch(),
    "unique": lambda: numbers(10).map(lambda i: i % 4).unique(),
    "unique_strings": lambda: data.Dataset.from_tensor_slices([b"a", b"b", b"a", b"", b""]).unique(),
    "scan": lambda: numbers(6).scan(tf.constant(0, tf.int64), lambda s, i: (s + i, (s, s * i))),
    "take_while": lambda: numbers(10).take_while(lambda i: i < 4),
    "group_by_window": lambda: numbers(11).group_by_window(lambda i: i % 3, lambda key, d: d.batch(4), window_size=2),
    "group_by_window_sizes": lambda: numbers(14).group_by_window(
        lambda i: i % 2, lambda key, d: d.batch(4), window_size_func=lambda key: key + 3
    ),
    "group_by_reducer": lambda: numbers(11).apply(
        tf.data.experimental.group_by_reducer(
            lambda i: i % 3,
            tf.data.experimental.Reducer(lambda key: key * 100, lambda s, i: s + i, lambda s: (s, s * 2)),
        )
    ),
    "ignore_errors": lambda: numbers(5)
    .map(lambda i: tf.debugging.check_numerics(1.0 / tf.cast(i % 3, tf.float32), "no"))
    .ignore_errors(),
    "choose": lambda: data.Dataset.choose_from_datasets(
        [numbers(3), data.Dataset.range(10, 15)], data.Dataset.from_tensor_slices(np.int64([0, 1, 1, 0, 0, 0, 1]))
    ),
    "rebatch": lambda: numbers(9).batch(4).rebatch(3),
    "rebatch_sizes": lambda: numbers(10).batch(4).rebatch([1, 3], drop_remainder=True),
    "sparse_slices": lambda: data.Dataset.from_sparse_tensor_slices(
        tf.sparse.SparseTensor([[0, 1], [0, 2], [2, 0]], np.array([1, 2, 3], F4), [4, 3])
    ).map(lambda indices, values, shape: (indices, values, shape)),
    "options": lambda: numbers(3).with_options(tf.data.Options()),
    "counted": lambda: numbers(3).apply(tf.data.experimental.assert_cardinality(3)),
    "bucketed": lambda: ragged(12).bucket_by_sequence_length(lambda x: tf.size(x), [2], [2, 3]),
    "seeded": lambda: numbers(3).map(lambda i: tf.random.uniform([2], seed=5)).repeat(2),
    "enumerate": lambda: rows().enumerate(5),
    "map_and_batch_in_parallel": lambda: numbers(9).apply(
        tf.data.experimental.map_and_batch(lambda i: i * i, 2, num_parallel_calls=3)
    ),
    "map_in_parallel_ends": lambda: numbers(9).map(
        lambda i: tf.debugging.check_numerics(1.0 / tf.cast(4 - i, tf.float32), "no"), num_parallel_calls=3
    ).ignore_errors(),
    "prefetch_of_prefetch": lambda: numbers(20).prefetch(3).map(lambda i: i + 1, num_parallel_calls=4).prefetch(-1),
    "prefetch_after_faults": lambda: numbers(9)
    .map(lambda i: tf.debugging.check_numerics(1.0 / tf.cast(i % 3, tf.float32), "no"))
    .prefetch(4)
    .ignore_errors(),
    "dense_to_sparse": lambda: sparse_parts(ragged().apply(tf.data.experimental.dense_to_sparse_batch(3, [5]))),
    "dense_to_sparse_largest": lambda: sparse_parts(
        ragged(5).map(lambda x: tf.as_string(x)[:, None]).apply(tf.data.experimental.dense_to_sparse_batch(2, [None, 2]))
    ),
    "sparse_tensors": lambda: sparse_parts(
        data.Dataset.from_tensor_slices(tf.sparse.SparseTensor([[0, 1], [0, 2], [2, 0]], np.array([1, 2, 3], F4), [4, 3]))
    ),
    "examples": lambda: data.Dataset.from_tensor_slices(examples()).batch(2).apply(parsed(1)),
    "examples_in_parallel": lambda: data.Dataset.from_tensor_slices(examples()).batch(2).apply(parsed(3)),
    "examples_with_ragged_features": lambda: data.Dataset.from_tensor_slices(examples()).batch(2).apply(parsed_ragged),
    "seeded_in_function": lambda: numbers(4).map(lambda i: tf.random.stateless_uniform([2], [i, 7])),
}


def at_end(iterator, count):
    """Control-ordered elements: `count` of them."""
    elements, before = [], []
    for _ in range(count):
        with tf.control_dependencies(before):
            element = tf.nest.flatten(iterator.get_next())
        elements.append(element)
        before = [element[0].op]
    return elements


def count_of(build):
    with tf.Graph().as_default(), tf1.Session() as session:
        element = data.make_one_shot_iterator(build()).get_next()
        for count in range(200):
            try:
                session.run(element)
            except tf.errors.OutOfRangeError:
                return count
    raise AssertionError("a dataset without end")


@support.needs_panto
class Datasets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def same_graph(self, build, targets=()):
        """`build` gives tensors of a new graph."""
        graph = tf.Graph()
        with graph.as_default():
            fetches = [tf.identity(t, name=f"out_{i}").op.name for i, t in enumerate(build())]
        definition = graph.as_graph_def()
        expected = support.run_graph_def(definition, {}, fetches)
        with support.saved(definition) as path:
            actual = support.panto_run(path, {}, fetches)
        for name in fetches:
            support.assert_same(self, actual[name], expected[name], name)

    def fails(self, build, error):
        """In TensorFlow with `error`; our message."""
        graph = tf.Graph()
        with graph.as_default():
            fetches = [tf.identity(t, name=f"out_{i}").op.name for i, t in enumerate(build())]
        definition = graph.as_graph_def()
        with self.assertRaises(error):
            support.run_graph_def(definition, {}, fetches)
        with support.saved(definition) as path:
            return support.panto_fails("run", path, *[word for name in fetches for word in ("--fetch", name)])

    def all_of(self, build):
        """All elements, then the end."""
        count = count_of(build)
        make = lambda: data.make_one_shot_iterator(build())
        if count > 0:
            self.same_graph(lambda: [t for element in at_end(make(), count) for t in element])
        message = self.fails(lambda: at_end(make(), count + 1)[-1], tf.errors.OutOfRangeError)
        self.assertIn("OutOfRange: iterator: expected another element, got the end", message)

    def test_iterators_that_are_initialized(self):
        def build():
            iterator = data.make_initializable_iterator(numbers(7).map(lambda i: i * 3).batch(2))
            with tf.control_dependencies([iterator.initializer]):
                elements = at_end(iterator, 4)
                with tf.control_dependencies(elements[-1]):
                    return [t for e in elements for t in e]

        self.same_graph(build)

    def test_iterators_that_are_not_initialized(self):
        message = self.fails(
            lambda: [data.make_initializable_iterator(numbers(7)).get_next()], tf.errors.FailedPreconditionError
        )
        self.assertIn("FailedPrecondition: iterator: expected one that a MakeIterator has begun", message)

    def test_iterators_by_text(self):
        def build():
            one = data.make_one_shot_iterator(numbers(4))
            text = one.string_handle()
            other = data.Iterator.from_string_handle(text, tf.int64, [])
            first = other.get_next()
            with tf.control_dependencies([first]):
                return [first, one.get_next()]

        self.same_graph(build)

    def test_optionals(self):
        def build():
            iterator = data.make_one_shot_iterator(numbers(1))
            first = tf.data.experimental.get_next_as_optional(iterator)
            with tf.control_dependencies([first.has_value()]):
                second = tf.data.experimental.get_next_as_optional(iterator)
            return [first.has_value(), first.get_value(), second.has_value()]

        self.same_graph(build)

    def test_whole_passes(self):
        def build():
            count = lambda dataset: raw.DatasetCardinality(input_dataset=dataset._variant_tensor)
            total = numbers(5).reduce((np.int64(0), np.int64(1)), lambda s, i: (s[0] + i, s[1] * (i + 1)))
            return [
                *total,
                tf.data.experimental.get_single_element(numbers(6).batch(9)),
                *map(count, [
                    numbers(5), numbers(5).repeat(3), numbers(5).repeat(), numbers(5).batch(2), numbers(5).batch(2, True),
                    numbers(5).filter(lambda i: i > 2), numbers(5).map(lambda i: i), numbers(5).take(9), numbers(5).skip(2),
                    numbers(10).window(3, shift=2, stride=2), numbers(10).window(3, shift=2, stride=2, drop_remainder=True),
                    numbers(10).shard(4, 1), data.Dataset.zip((numbers(3), numbers(2).repeat())), rows().batch(3).unbatch(),
                    numbers(4).concatenate(numbers(3)), numbers(4).flat_map(numbers), numbers(4).repeat().skip(3),
                ]),
            ]

        self.same_graph(build)

    def test_passes_of_another_number(self):
        single = lambda n: lambda: [tf.data.experimental.get_single_element(numbers(n))]
        for n in (0, 2):
            self.assertIn("InvalidArgument: dataset: expected one element, got ", self.fails(single(n), tf.errors.InvalidArgumentError))

    def test_functions_of_version_two(self):
        """Iterators inside of a function: anonymous ones."""

        @tf.function
        def total():
            sum = tf.constant(0, tf.int64)
            for i in tf.data.Dataset.range(6).map(lambda i: i * i).batch(4):
                sum += tf.reduce_sum(i)
            iterator = iter(tf.data.Dataset.range(5).shuffle(3, seed=2))
            return sum, next(iterator), next(iterator), next(iterator)

        with tf.device("cpu:0"):
            concrete = total.get_concrete_function()
        graph = tf.Graph()
        with graph.as_default():
            outputs = tf.nest.flatten(tf1.import_graph_def(concrete.graph.as_graph_def(), name="", return_elements=[t.name for t in concrete.outputs]))
            fetches = [t.name for t in outputs]
        definition = graph.as_graph_def()
        expected = support.run_graph_def(definition, {}, fetches)
        with support.saved(definition) as path:
            actual = support.panto_run(path, {}, fetches)
        for name in fetches:
            support.assert_same(self, actual[name], expected[name], name)

    def test_files(self):
        lines = [self.file("a", b"one\r\n\ntwo\n"), self.file("b", b""), self.file("c", b"x\ny")]
        records = str(self.folder / "records")
        for path, compression in [(records, ""), (records + ".gz", "GZIP")]:
            with tf.io.TFRecordWriter(path, compression) as writer:
                for record in (b"one", b"", b"x" * 5000):
                    writer.write(record)
        packed = self.file("packed", gzip.compress(b"p\nq\n"))
        fixed = [self.file("f", b"HHabcdefF"), self.file("g", b"HHF"), self.file("h", b"HHxyF")]
        for build in [
            lambda: data.TextLineDataset(lines),
            lambda: data.TextLineDataset(packed, "GZIP"),
            lambda: data.TFRecordDataset([records, records]),
            lambda: data.TFRecordDataset(records + ".gz", "GZIP"),
            lambda: data.TFRecordDataset([records] * 3, num_parallel_reads=2),
            lambda: data.FixedLengthRecordDataset(fixed, 2, 2, 1),
            lambda: MatchingFilesDataset([str(self.folder / "[abc]"), str(self.folder / "rec*")]),
        ]:
            with self.subTest(build):
                self.all_of(build)

    def test_csv_files(self):
        files = [
            self.file("a.csv", b'h1,"h\n2",h3\r\n1,2.5,x\r\n2,,"a ""b"", c\nd"\n-3, 4e1 ,\n'),
            self.file("b.csv", b"h\n7,NA,y\r8,1,\"z\""),
        ]
        csv = tf1.data.experimental.CsvDataset
        for build in [
            lambda: csv(files, [tf.int64, tf.constant([0.5]), tf.constant(["none"])], header=True, na_value="NA"),
            lambda: csv(files, [tf.constant(["none"]), tf.int32], header=True, select_cols=[0, 2]).ignore_errors(),
            lambda: csv(files[0], [tf.string] * 3, header=True).ignore_errors(),
            lambda: tf.data.experimental.CsvDataset(
                files[0], [tf.string, tf.string], header=True, exclude_cols=[1]
            ).ignore_errors(),
            lambda: csv(self.file("c.csv", b'a"b;"c"\n;\n'), [tf.constant(["x"]), tf.constant(["y"])], field_delim=";", use_quote_delim=False),
            lambda: csv(self.file("d.gz", gzip.compress(b"1\n2\n")), [tf.int32], compression_type="GZIP"),
            lambda: csv(self.file("e.csv", b"1,2,3\n4\n5,6\n\n7,8\n9,"), [tf.int32, tf.constant([0])]).ignore_errors(),
            lambda: csv(self.file("f.csv", b'a"b,1\n"a"b,2\n"c",3\n"d",x\n"e",4\n"f'), [tf.string, tf.int32]).ignore_errors(),
        ]:
            with self.subTest(build):
                self.all_of(build)
        first = lambda content, types: self.fails(
            lambda: at_end(data.make_one_shot_iterator(csv(self.file("g.csv", content), types)), 1)[0], tf.errors.InvalidArgumentError
        )
        self.assertIn('record: expected field 0 as int32, got "x"', first(b"x\n", [tf.int32]))
        self.assertIn("record: expected 2 fields, got 1", first(b"x\n", [tf.string, tf.string]))
        self.assertIn("record: expected 1 fields, got more", first(b"x,y\n", [tf.string]))
        self.assertIn("record: expected a value of field 1", first(b"x,\n", [tf.string, tf.int32]))

    def test_faulty_files(self):
        first = lambda dataset: lambda: at_end(data.make_one_shot_iterator(dataset()), 1)[0]
        odd = self.file("odd", b"HabcF")
        message = self.fails(first(lambda: data.FixedLengthRecordDataset(odd, 2, 1, 1)), tf.errors.InvalidArgumentError)
        self.assertIn("InvalidArgument: ", message)
        message = self.fails(first(lambda: data.TextLineDataset(str(self.folder / "none"))), tf.errors.NotFoundError)
        self.assertIn("NotFound: ", message)

    def test_sizes_of_batches(self):
        def build():
            batches = lambda size=4: numbers(12).batch(size)
            sizes = [
                batches(), numbers(3), batches().map(lambda x: x + 1), batches().filter(lambda x: True),
                batches().prefetch(1), batches().shuffle(2), batches().repeat(2), batches().take(1), batches().skip(1),
                batches().shard(2, 0), batches().cache(), data.Dataset.zip((batches(), batches())),
                data.Dataset.zip((batches(), batches(3))), batches().concatenate(batches()),
                batches().concatenate(batches(3)), batches().unbatch(), batches().batch(2),
                ragged().padded_batch(3, padded_shapes=[None]), batches().window(2), batches().rebatch(2),
                numbers(5).apply(tf.data.experimental.map_and_batch(lambda i: i, 2)),
                batches().apply(tf.data.experimental.assert_cardinality(3)), batches().ignore_errors(),
                ragged().apply(tf.data.experimental.dense_to_sparse_batch(3, [5])),
                data.Dataset.from_tensor_slices(examples()).batch(2).apply(
                    tf.data.experimental.parse_example_dataset({"a list": tf.io.VarLenFeature(tf.int64)})),
            ]
            return [raw.ComputeBatchSize(input_dataset=d._variant_tensor) for d in sizes]

        self.same_graph(build)

    def test_caches_in_files(self):
        """Either reads what the other wrote, and nobody asks the input then."""
        kept = lambda path, n=4: numbers(n).map(lambda i: (i * 3, tf.as_string(i), tf.range(i))).cache(str(path))
        for ours_first in (True, False):
            path = self.folder / f"cache_{ours_first}"
            graphs = []
            for n in (4, 0):  # the second would have no elements of its own
                with tf.Graph().as_default() as graph:
                    elements = at_end(data.make_one_shot_iterator(kept(path, n).repeat(2)), 8)
                    fetches = [tf.identity(t, name=f"out_{n}_{i}").op.name for i, t in enumerate(tf.nest.flatten(elements))]
                graphs.append((graph.as_graph_def(), fetches))

            def ours(definition, fetches):
                with support.saved(definition) as file:
                    return support.panto_run(file, {}, fetches)

            theirs = lambda definition, fetches: support.run_graph_def(definition, {}, fetches)
            (first, names), (second, other_names) = graphs
            made = (ours if ours_first else theirs)(first, names)
            self.assertEqual(made[names[-2]], b"3")
            self.assertTrue(path.with_suffix(".index").exists())
            read = (theirs if ours_first else ours)(second, other_names)
            for name, other in zip(names, other_names):
                support.assert_same(self, read[other], made[name], name)

    def test_a_pass_that_goes_on(self):
        """SerializeIterator, and DeserializeIterator in another pass over the dataset."""
        shuffled = lambda: numbers(12).shuffle(5, seed=3).repeat(2).map(lambda i: i * 10, num_parallel_calls=2).prefetch(2)

        def build():
            dataset = shuffled()._variant_tensor
            types = {"output_types": [tf.int64], "output_shapes": [[]]}
            first, second = (raw.IteratorV2(shared_name=name, container="", **types) for name in "ab")

            def elements(iterator, count, before):
                all_ = []
                for _ in range(count):
                    with tf.control_dependencies(before):
                        all_ += raw.IteratorGetNext(iterator=iterator, **types)
                    before = [all_[-1]]
                return all_

            made = raw.MakeIterator(dataset=dataset, iterator=first)
            begun = elements(first, 7, [made])
            with tf.control_dependencies([begun[-1]]):
                state = raw.SerializeIterator(resource_handle=first)
                with tf.control_dependencies([state]):
                    again = raw.MakeIterator(dataset=dataset, iterator=second)
                with tf.control_dependencies([again]):
                    restored = raw.DeserializeIterator(resource_handle=second, serialized=state)
            return begun + elements(second, 17, [restored])

        self.same_graph(build)

    def test_files_are_refused(self):
        secret = self.file("secret", b"secret\n")
        graph = tf.Graph()
        with graph.as_default():
            tf.identity(data.make_one_shot_iterator(data.TextLineDataset(secret)).get_next(), name="out")
        with support.saved(graph.as_graph_def()) as path:
            self.assertEqual(support.panto_run(path, {}, ["out"])["out"], b"secret")
            self.assertIn("PermissionDenied: file '", support.panto_fails("run", path, "--no-files", "--fetch", "out"))

    def test_faults(self):
        first = lambda dataset: lambda: at_end(data.make_one_shot_iterator(dataset()), 1)[0]
        wrong = tf.errors.InvalidArgumentError
        # TensorFlow's Python refuses some of these earlier, unless they are not known there.
        number = lambda n: tf1.placeholder_with_default(tf.constant(n, tf.int64), [])
        for build, error, text in [
            (lambda: numbers(3).batch(number(0)), wrong, "batch_size: expected at least 1, got 0"),
            (lambda: numbers(3).shuffle(number(-1)), wrong, "buffer_size: expected at least 1, or -2 for all elements, got -1"),
            (lambda: windows(numbers(3).window(number(0))), wrong, "size: expected at least 1, got 0"),
            (lambda: numbers(3).shard(number(2), number(2)), wrong, "index: expected one in [0, 2), got 2"),
            (lambda: ragged().batch(3), wrong, "batch, component 0: expected elements of one shape, int64[0]"),
            (
                lambda: ragged().skip(3).padded_batch(1, padded_shapes=[number(2)]),
                tf.errors.DataLossError,
                "component 0: expected at most 2 in dimension 0, got 3",
            ),
            (
                lambda: numbers(3).apply(tf.data.experimental.assert_cardinality(2)).skip(2),
                tf.errors.FailedPreconditionError,
                "dataset: expected 2 elements, got at least 3",
            ),
        ]:
            with self.subTest(text):
                # Where a placeholder is captured, the iterator is not a one-shot one.
                def made(build=build):
                    iterator = data.make_initializable_iterator(build())
                    with tf.control_dependencies([iterator.initializer]):
                        return [tf.identity(t) for t in tf.nest.flatten(iterator.get_next())]

                self.assertIn(text, self.fails(made, error))


def add_test(name, build):
    setattr(Datasets, f"test_dataset_{name}", lambda self: self.all_of(build))


for _name, _build in DATASETS.items():
    add_test(_name, _build)


if __name__ == "__main__":
    support.main()
