"""What tf.compat.v1.layers computes (layer_functions.npz, float32), in a scope with a regularizer.

    x, steps, volumes  what goes in
    names              of the variables, in the order of making
    value/NAME         their values, `wave`s
    training           what the network gives in training; with a placeholder for whether it is, the same
    inference          the same network, reused, out of training
    steps_out, volumes_out, larger, mixed
    gradient/NAME      of the sum of squares of `training` and of the penalties
    penalties          the sum of regularization_losses
    moved/NAME         the moving statistics after the update ops

TensorFlow has these layers only beside Keras 2: needs tf_keras 2.21.0, in a process of its own:

    build/venv/bin/python3 -m pip install --no-deps --target build/tf_keras tf_keras==2.21.0
    PYTHONPATH=build/tf_keras build/venv/bin/python3 tests/reference/training/layer_function_cases.py
"""

import os
import pathlib
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from cases import save_arrays

v1 = tf.compat.v1
layers = v1.layers


def wave(shape, phase):
    count = int(np.prod(shape))
    return (np.sin(np.arange(count) * 0.7 + phase) * 0.5).reshape(shape).astype(np.float32)


def penalty(weights):
    return 0.25 * tf.reduce_sum(weights * weights)


def network(x, steps, volumes, training):
    y = layers.conv2d(x, 4, 3, strides=2, padding="same", activation=tf.nn.tanh)
    y = layers.batch_normalization(y, momentum=0.75, training=training)
    y = layers.separable_conv2d(y, 5, (2, 3), padding="same", depth_multiplier=2)
    y = layers.average_pooling2d(y, 2, 1)
    y = layers.max_pooling2d(y, 2, 2, padding="same")
    y = layers.flatten(y)
    y = layers.dense(y, 6, activation=tf.nn.softplus, kernel_regularizer=penalty)
    y = layers.batch_normalization(y, momentum=0.5, training=training)
    y = layers.dropout(y, 0.5, training=False)
    y = layers.dense(y, 2, use_bias=False)
    s = layers.conv1d(steps, 3, 3, dilation_rate=2)
    s = layers.average_pooling1d(layers.max_pooling1d(s, 2, 1), 2, 1)
    s = layers.dense(s, 2, name="each_step")
    v = layers.conv3d(volumes, 2, (2, 1, 2), strides=(1, 2, 1), name="conv")
    v = layers.conv3d_transpose(v, 2, (2, 2, 1), strides=(1, 3, 1), padding="same")
    u = layers.conv2d_transpose(x, 2, (3, 2), strides=(2, 3))
    w = layers.separable_conv1d(steps, 2, 3, 2, "same", depth_multiplier=2, activity_regularizer=penalty)
    return y, s, v, u, w


def make(path):
    arrays = {"x": wave((2, 9, 8, 3), 0), "steps": wave((2, 9, 3), 1), "volumes": wave((1, 3, 4, 3, 2), 2)}
    with tf.Graph().as_default(), v1.Session() as session:
        x, steps, volumes = (tf.constant(arrays[name]) for name in ("x", "steps", "volumes"))
        training = v1.placeholder(tf.bool, [])
        with v1.variable_scope("net", regularizer=v1.keras.regularizers.l2(0.125)):
            y, s, v, u, w = network(x, steps, volumes, training)
        with v1.variable_scope("net", reuse=True):
            inference, *_ = network(x, steps, volumes, False)
        variables = v1.global_variables()
        arrays["names"] = np.array([variable.op.name for variable in variables], "S")
        for i, variable in enumerate(variables):
            value = wave(variable.shape.as_list(), 10.0 + i) + ("variance" in variable.name)
            variable.load(value, session)
            arrays[f"value/{variable.op.name}"] = value
        penalties = tf.add_n(v1.get_collection("regularization_losses"))
        fed = {training: True}
        arrays["training"], arrays["steps_out"], arrays["volumes_out"], arrays["larger"], arrays["mixed"], arrays["penalties"] = session.run(
            [y, s, v, u, w, penalties], fed)
        arrays["inference"] = session.run(inference)
        loss = tf.reduce_sum(y * y) + penalties
        for variable, gradient in zip(v1.trainable_variables(), tf.gradients(loss, v1.trainable_variables())):
            arrays[f"gradient/{variable.op.name}"] = session.run(gradient, fed)
        session.run(v1.get_collection("update_ops"), fed)
        for variable in variables:
            if "moving" in variable.name:
                arrays[f"moved/{variable.op.name}"] = session.run(variable)
    save_arrays(path, arrays)


if __name__ == "__main__":
    v1.disable_v2_behavior()
    make(pathlib.Path(__file__).parents[1] / "values/layer_functions.npz")
