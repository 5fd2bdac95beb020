"""Networks of Keras as frozen graphs, with weights that a seed draws, and the same in ONNX: `networks.py FOLDER NAME...`."""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy as np
import tensorflow as tf
import tf2onnx
from keras import layers
from tensorflow.python.framework import convert_to_constants

WORDS, TOKENS, WIDTH, HEADS, BLOCKS = 30522, 128, 768, 12, 12  # BERT-base


def bert():
    """The encoder of BERT (Devlin and others 2018) for token numbers, of which 0 is no word: nobody looks at it."""
    def normed(x):
        return layers.LayerNormalization(epsilon=1e-12)(x)

    def projected(x):
        return layers.Reshape((TOKENS, HEADS, WIDTH // HEADS))(layers.Dense(WIDTH)(x))
    tokens = keras.Input((TOKENS,), dtype="int32")
    ops = keras.ops
    unseen = (1.0 - ops.cast(ops.not_equal(tokens, 0), "float32")[:, None, None, :]) * -10000.0
    places = layers.Embedding(TOKENS, WIDTH)(np.arange(TOKENS)[None])
    x = normed(layers.Embedding(WORDS, WIDTH)(tokens) + places)
    for _ in range(BLOCKS):
        query, key, value = (ops.transpose(projected(x), (0, 2, 1, 3)) for _ in range(3))
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) * (WIDTH // HEADS) ** -0.5 + unseen
        mixed = ops.transpose(ops.matmul(ops.softmax(scores), value), (0, 2, 1, 3))
        x = normed(x + layers.Dense(WIDTH)(layers.Reshape((TOKENS, WIDTH))(mixed)))
        h = layers.Dense(4 * WIDTH)(x)
        x = normed(x + layers.Dense(WIDTH)(0.5 * h * (1.0 + ops.erf(h * 0.5**0.5))))
    return keras.Model(tokens, x)


def of_images(network):
    return lambda: network(weights=None, classifier_activation=None)


# By what workloads.py calls the work.
NETWORKS = {
    "resnet50": of_images(keras.applications.ResNet50),
    "mobilenet_v2": of_images(keras.applications.MobileNetV2),
    "efficientnet_b0": of_images(keras.applications.EfficientNetB0),
    "bert_base": bert,
}


def draw_weights(model):
    """Keras's own draws for kernels; what starts as ones and zeros is no identity: trained weights are none either."""
    generator = np.random.default_rng(7)
    for weight in model.weights:
        shape, name = weight.shape, weight.path.rsplit("/", 1)[-1]
        if name in ("gamma", "moving_variance"):
            weight.assign(generator.uniform(0.9, 1.1, shape))
        elif name in ("beta", "bias", "moving_mean"):
            weight.assign(generator.uniform(-0.1, 0.1, shape))


def write(name, folder):
    """The graph with one input `x` and one output, and its form in ONNX."""
    keras.utils.set_random_seed(5)
    model = NETWORKS[name]()
    draw_weights(model)
    given = model.inputs[0]
    spec = tf.TensorSpec((1, *given.shape[1:]), given.dtype, "x")
    traced = tf.function(lambda x: tf.identity(model(x, training=False), "y")).get_concrete_function(spec)
    frozen = convert_to_constants.convert_variables_to_constants_v2(traced)
    definition = frozen.graph.as_graph_def()
    model_in_onnx, _ = tf2onnx.convert.from_graph_def(definition, name=name, input_names=["x:0"], output_names=["y:0"],
                                                     opset=18)
    (folder / f"{name}.onnx").write_bytes(model_in_onnx.SerializeToString())
    (folder / f"{name}.pb").write_bytes(definition.SerializeToString())


def main():
    tf.get_logger().setLevel("ERROR")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        if not (folder / f"{name}.pb").exists():
            print(f"peers: making {name}", file=sys.stderr, flush=True)
            write(name, folder)


if __name__ == "__main__":
    main()
