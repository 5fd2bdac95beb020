"""The works of data.cc in TensorFlow, with one thread: what each makes in a second of the processor's time.

    build/venv/bin/python3 benchmarks/data_tensorflow.py
"""

import os
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def one_thread(dataset):
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    return dataset.with_options(options)


def rate(work, amount):
    """Of the best of three, behind one that does not count."""
    work()
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return amount / min(times)


def whole(dataset):
    def run():
        for _ in dataset:
            pass

    return run


def rows(count):
    return tf.data.Dataset.from_tensor_slices(np.random.rand(count, 8).astype(np.float32))


def records():
    def example(i):
        kinds, feature = tf.train, tf.train.Feature
        return kinds.Example(features=kinds.Features(feature={
            "x": feature(float_list=kinds.FloatList(value=np.random.rand(256))),
            "ids": feature(int64_list=kinds.Int64List(value=range(i, i + 4))),
            "name": feature(bytes_list=kinds.BytesList(value=[b"sixteen letters!"])),
        }))

    spec = {"x": tf.io.FixedLenFeature([256], tf.float32), "ids": tf.io.FixedLenFeature([4], tf.int64),
            "name": tf.io.FixedLenFeature([], tf.string)}
    with tempfile.NamedTemporaryFile() as file:
        with tf.io.TFRecordWriter(file.name) as writer:
            for i in range(4000):
                writer.write(example(i).SerializeToString())
        batches = tf.data.TFRecordDataset(file.name).batch(128).map(lambda batch: tf.io.parse_example(batch, spec))
        return rate(whole(one_thread(batches)), os.path.getsize(file.name))


def jpegs():
    noise = tf.random.uniform([480, 640, 3], 0.5, 1.5)
    picture = tf.io.encode_jpeg(tf.cast(128 + 100 * tf.sin(noise * 9), tf.uint8))
    return rate(lambda: [tf.io.decode_jpeg(picture) for _ in range(10)], 10 * 480 * 640)


def double(x):
    return x * 2


print(f"map_and_batch {rate(whole(one_thread(rows(20000).map(double).batch(128))), 20000):.4g} rows/s")
print(f"batch_and_map {rate(whole(one_thread(rows(200000).batch(128).map(double))), 200000):.4g} rows/s")
print(f"records_and_parse {records():.4g} bytes/s")
print(f"jpeg {jpegs():.4g} pixels/s")
