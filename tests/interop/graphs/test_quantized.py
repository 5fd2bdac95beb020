"""Frozen graphs of quantized ops: run in TensorFlow and by `panto run`, and compared by bits."""

import unittest

import numpy as np
import support
import tensorflow as tf

tf1, raw = tf.compat.v1, tf.raw_ops


def numbers(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.Generator(np.random.PCG64(seed)).uniform(low, high, shape).astype(np.float32)


@support.needs_panto
class Quantized(unittest.TestCase):
    def same(self, graph, feeds, fetches):
        definition = graph.as_graph_def()
        expected = support.run_graph_def(definition, feeds, fetches)
        for suffix in (".pb", ".pbtxt"):
            with support.saved(definition, suffix) as path:
                for options in ([], ["--optimize", "off"]):
                    actual = support.panto_run(path, feeds, fetches, options=options)
                    for name in fetches:
                        support.assert_same(self, actual[name], expected[name], name)

    # As TensorFlow's graph transforms wrote networks of 8 bits: weights are constants of quint8, sums are brought back
    # to 8 bits after each product.
    def test_network(self):
        graph = tf.Graph()
        with graph.as_default():
            image = tf1.placeholder(tf.float32, [None, 9, 9, 3], name="image")

            def weights(values, name):
                low, high = float(values.min()), float(values.max())
                q = np.round((values - low) / (high - low) * 255).astype(np.uint8)
                return tf.constant(q.view(tf.quint8.as_numpy_dtype), name=name), low, high

            def shrunk(result):
                asked = raw.RequantizationRange(input=result[0], input_min=result[1], input_max=result[2])
                return raw.Requantize(
                    input=result[0],
                    input_min=result[1],
                    input_max=result[2],
                    requested_output_min=asked.output_min,
                    requested_output_max=asked.output_max,
                    out_type=tf.quint8,
                )

            low, high = tf.reduce_min(image), tf.reduce_max(image)
            x = raw.QuantizeV2(input=image, min_range=low, max_range=high, T=tf.quint8, mode="MIN_FIRST")
            f, f_low, f_high = weights(numbers(3, 3, 3, 4, seed=1), "filter")
            x = raw.QuantizedConv2D(
                input=x[0],
                filter=f,
                min_input=x[1],
                max_input=x[2],
                min_filter=f_low,
                max_filter=f_high,
                strides=[1, 1, 1, 1],
                padding="SAME",
                out_type=tf.qint32,
            )
            x = shrunk(x)
            b, b_low, b_high = weights(numbers(4, seed=2), "bias")
            x = raw.QuantizedBiasAdd(
                input=x[0],
                bias=b,
                min_input=x[1],
                max_input=x[2],
                min_bias=b_low,
                max_bias=b_high,
                out_type=tf.qint32,
            )
            x = shrunk(x)
            x = raw.QuantizedRelu(features=x[0], min_features=x[1], max_features=x[2], out_type=tf.quint8)
            x = raw.QuantizedMaxPool(
                input=x[0], min_input=x[1], max_input=x[2], ksize=[1, 3, 3, 1], strides=[1, 3, 3, 1], padding="VALID"
            )
            x = raw.QuantizedReshape(tensor=x[0], shape=[-1, 36], input_min=x[1], input_max=x[2])
            k, k_low, k_high = weights(numbers(36, 5, seed=3), "kernel")
            x = raw.QuantizedMatMul(
                a=x[0], b=k, min_a=x[1], max_a=x[2], min_b=k_low, max_b=k_high, Toutput=tf.qint32
            )
            x = raw.QuantizeDownAndShrinkRange(input=x[0], input_min=x[1], input_max=x[2], out_type=tf.quint8)
            tf.bitcast(x[0], tf.uint8, name="integers")  # a session gives quantized tensors as plain integers anyway
            raw.Dequantize(input=x[0], min_range=x[1], max_range=x[2], mode="MIN_FIRST", name="y")
        self.same(graph, {"image": numbers(2, 9, 9, 3)}, ["integers", "y"])

    # What moves elements takes quantized ones, and bits become them.
    def test_moved(self):
        graph = tf.Graph()
        with graph.as_default():
            fetches = []
            bits = tf1.placeholder(tf.int8, [2, 3], name="bits")
            for dtype in (tf.qint8, tf.quint8):
                q = tf.bitcast(bits, dtype)
                moved = {
                    "same": tf.identity(q),
                    "shape": tf.reshape(q, [3, 2]),
                    "joined": tf.concat([q, q], 0),
                    "stacked": tf.stack([q, q]),
                    "gathered": tf.gather(q, [1, 0]),
                    "part": tf.slice(q, [0, 1], [2, 2]),
                    "equal": tf.equal(q, tf.gather(q, [0, 0])),
                }
                for name, value in moved.items():
                    value = tf.bitcast(value, tf.int8) if value.dtype.is_quantized else value
                    fetches.append(tf.identity(value, name=f"{dtype.name}_{name}").op.name)
        self.same(graph, {"bits": np.array([[1, -2, 3], [127, -128, 0]], np.int8)}, fetches)


if __name__ == "__main__":
    support.main()
