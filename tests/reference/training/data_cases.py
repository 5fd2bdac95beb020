"""What tf.data makes of elements (datasets.npz, int64).

    NAME/values   the numbers of all elements, one after the other
    NAME/shapes   of each element its rank and its dimensions, one after the other

NAMEs are those of tests/nn/data/stages_test.cc, which makes the same. `csv` are the rows of CSV_TEXT.
"""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from cases import save_arrays

range_of = tf.data.Dataset.range
LENGTHS = [3, 5, 1, 7, 2, 2, 9, 4, 4, 6, 1, 8, 3, 12, 5]
CSV_TEXT = 'a,b,c\n1,,3\n"4",5,6\n7,8,\n'


def many(x):
    return tf.data.Dataset.from_tensors(x).repeat(x % 4 + 2)


def pieces():
    return tf.data.Dataset.from_tensor_slices(LENGTHS).map(lambda n: tf.fill([n], tf.cast(n, tf.int64)))


def buckets(**options):
    return pieces().bucket_by_sequence_length(lambda x: tf.shape(x)[0], **options)


def windows(n, size, **options):
    return range_of(n).window(size, **options).flat_map(lambda window: window.batch(size))


def csv():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "t.csv"
        path.write_text(CSV_TEXT)
        defaults = [tf.int64, tf.constant([-2], tf.int64), tf.constant([-3], tf.int64)]
        rows = tf.data.experimental.CsvDataset(str(path), defaults, header=True)
        return tf.data.Dataset.from_tensor_slices(list(rows.map(lambda *row: tf.stack(row)).as_numpy_iterator()))


PIPELINES = {
    **{
        f"interleave_{cycle}_{block}": lambda cycle=cycle, block=block: range_of(1, 9).interleave(
            many, cycle_length=cycle, block_length=block
        )
        for cycle in (1, 2, 3, 5, 20)
        for block in (1, 2, 4)
    },
    "flat_map": lambda: range_of(1, 6).flat_map(many),
    "window": lambda: windows(7, 3),
    "window_drop": lambda: windows(7, 3, drop_remainder=True),
    "window_shift": lambda: windows(9, 3, shift=1),
    "window_shift_drop": lambda: windows(9, 3, shift=2, drop_remainder=True),
    "window_stride": lambda: windows(11, 3, shift=1, stride=2),
    "window_stride_drop": lambda: windows(11, 3, shift=2, stride=3, drop_remainder=True),
    "window_apart": lambda: windows(11, 2, shift=4),
    "padded_batch": lambda: pieces().padded_batch(4),
    "padded_batch_value": lambda: pieces().padded_batch(4, padding_values=np.int64(-1), drop_remainder=True),
    "padded_batch_shape": lambda: pieces().padded_batch(5, padded_shapes=[13]),
    "bucket": lambda: buckets(bucket_boundaries=[3, 6], bucket_batch_sizes=[3, 2, 4]),
    "bucket_drop": lambda: buckets(bucket_boundaries=[4, 8], bucket_batch_sizes=[2, 2, 2], drop_remainder=True),
    "bucket_bound": lambda: buckets(
        bucket_boundaries=[4, 8, 14],
        bucket_batch_sizes=[3, 3, 3, 1],
        pad_to_bucket_boundary=True,
        padding_values=np.int64(-7),
    ),
    "shard": lambda: range_of(11).shard(4, 2),
    "enumerate": lambda: range_of(5, 8).enumerate(10).map(lambda i, x: tf.stack([i, x])),
    "zip": lambda: tf.data.Dataset.zip((range_of(4), range_of(10, 13))).map(lambda a, b: tf.stack([a, b])),
    "concatenate": lambda: range_of(3).concatenate(range_of(7, 9)),
    "unbatch": lambda: range_of(7).batch(3).unbatch(),
    "filter": lambda: range_of(20).filter(lambda x: x % 7 < 2),
    "range": lambda: range_of(10, -5, -4),
    "csv": csv,
}


def make(path):
    arrays = {}
    for name, pipeline in PIPELINES.items():
        elements = list(pipeline().as_numpy_iterator())
        values = [np.ravel(np.asarray(e, np.int64)) for e in elements]
        shapes = [np.array([np.ndim(e), *np.shape(e)], np.int64) for e in elements]
        arrays[f"{name}/values"] = np.concatenate(values)
        arrays[f"{name}/shapes"] = np.concatenate(shapes)
    save_arrays(path, arrays)
    return arrays
