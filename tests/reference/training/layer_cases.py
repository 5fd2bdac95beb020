"""What Keras computes of layers (layers.npz, float32 of what was computed in float64).

    NAME/y         what the layer gives for its inputs, or of several outputs NAME/y0, NAME/y1, ...
    NAME/dx        the gradient of the sum of y's squares by the (first) input
    NAME/dv0, ...  the same by the layer's variables, in Keras's order
    after/NAME/... what variables hold after a call in training

Inputs are wave(shape, 1), wave(shape, 2), ..., variables wave(shape, 10), wave(shape, 11), ... in Keras's order. NAMEs are
those of the tests that make the same (tests/nn/layers/keras_*_test.cc), which also say the options.
"""

import keras
import numpy as np
import tensorflow as tf
from cases import save_arrays
from training_cases import wave

layers = keras.layers
MASK = np.array([[True, True, False, True, False], [False, True, True, True, True]])

CONVOLUTIONS = {
    "conv1d": (lambda: layers.Conv1D(3, 3, 2, "same"), [2, 7, 2]),
    "conv1d_causal": (lambda: layers.Conv1D(3, 2, padding="causal", dilation_rate=2), [2, 6, 2]),
    "conv2d": (lambda: layers.Conv2D(3, (3, 2), (2, 1), "same"), [2, 5, 4, 2]),
    "conv3d": (lambda: layers.Conv3D(3, (2, 3, 2), (1, 2, 1)), [1, 3, 5, 3, 2]),
    "conv3d_same": (lambda: layers.Conv3D(2, 2, 2, "same", use_bias=False), [1, 3, 2, 3, 2]),
    "conv1d_transpose": (lambda: layers.Conv1DTranspose(3, 3, 2), [2, 4, 2]),
    "conv1d_transpose_wide": (lambda: layers.Conv1DTranspose(2, 2, 3), [1, 3, 2]),
    "conv2d_transpose": (lambda: layers.Conv2DTranspose(2, (3, 2), (2, 3), "same"), [1, 3, 2, 3]),
    "conv2d_transpose_padded": (lambda: layers.Conv2DTranspose(2, 3, 2, "same", output_padding=1), [1, 3, 2, 2]),
    "conv2d_transpose_valid": (lambda: layers.Conv2DTranspose(2, 3, 2, output_padding=1), [1, 2, 3, 2]),
    "conv3d_transpose": (lambda: layers.Conv3DTranspose(2, (2, 3, 2), 2, use_bias=False), [1, 2, 2, 2, 2]),
    "depthwise_conv1d": (lambda: layers.DepthwiseConv1D(3, 2, depth_multiplier=2), [2, 6, 2]),
    "depthwise_conv2d": (lambda: layers.DepthwiseConv2D((3, 2), 2, "same", depth_multiplier=2), [1, 5, 4, 2]),
    "separable_conv1d": (lambda: layers.SeparableConv1D(3, 3, 2), [2, 5, 2]),
    "separable_conv2d": (lambda: layers.SeparableConv2D(3, (2, 3), padding="same", depth_multiplier=2), [1, 4, 3, 2]),
}

POOLS = {
    "max_pool1d": (lambda: layers.MaxPooling1D(3, 2, "same"), [2, 6, 2]),
    "max_pool3d": (lambda: layers.MaxPooling3D((2, 1, 2), dtype="float32"), [1, 4, 3, 5, 2]),
    "average_pool1d": (lambda: layers.AveragePooling1D(2, padding="same"), [2, 5, 2]),
    "average_pool3d": (lambda: layers.AveragePooling3D(2, (1, 2, 1), "same", dtype="float32"), [1, 2, 3, 3, 2]),
    "global_max_pool1d": (lambda: layers.GlobalMaxPooling1D(), [2, 5, 3]),
    "global_max_pool3d": (lambda: layers.GlobalMaxPooling3D(keepdims=True), [2, 2, 3, 2, 2]),
    "global_average_pool1d": (lambda: layers.GlobalAveragePooling1D(), [2, 5, 3]),
    "global_average_pool3d": (lambda: layers.GlobalAveragePooling3D(), [2, 2, 3, 2, 2]),
    "adaptive_average_pool2d": (lambda: layers.AdaptiveAveragePooling2D((3, 2)), [1, 5, 4, 2]),
    "adaptive_max_pool1d": (lambda: layers.AdaptiveMaxPooling1D(3), [2, 7, 2]),
    "adaptive_max_pool3d": (lambda: layers.AdaptiveMaxPooling3D(2, dtype="float32"), [1, 3, 4, 5, 1]),
    "zero_padding1d": (lambda: layers.ZeroPadding1D((2, 1)), [1, 2, 2]),
    "zero_padding3d": (lambda: layers.ZeroPadding3D(((1, 0), (0, 1), (0, 2))), [1, 2, 1, 2, 1]),
    "cropping1d": (lambda: layers.Cropping1D((2, 1)), [1, 5, 2]),
    "cropping2d": (lambda: layers.Cropping2D(((1, 0), (0, 2))), [2, 3, 4, 1]),
    "cropping3d": (lambda: layers.Cropping3D((1, 0, 1)), [1, 4, 2, 3, 1]),
    "up_sampling1d": (lambda: layers.UpSampling1D(3), [1, 3, 2]),
    "up_sampling2d": (lambda: layers.UpSampling2D((2, 3)), [1, 2, 3, 2]),
    "up_sampling2d_bilinear": (lambda: layers.UpSampling2D(2, interpolation="bilinear"), [1, 3, 2, 2]),
    "up_sampling2d_bicubic": (lambda: layers.UpSampling2D((2, 1), interpolation="bicubic"), [1, 3, 4, 1]),
    "up_sampling3d": (lambda: layers.UpSampling3D((1, 2, 2)), [1, 2, 2, 2, 1]),
    "resizing": (lambda: layers.Resizing(4, 5), [1, 3, 3, 2]),
    "center_crop": (lambda: layers.CenterCrop(2, 3), [1, 5, 4, 2]),
}

OTHERS = {
    "group_norm": (lambda: layers.GroupNormalization(3), [2, 2, 3, 6]),
    "instance_norm": (lambda: layers.GroupNormalization(-1, epsilon=0.25), [2, 3, 2]),
    "rms_norm": (lambda: layers.RMSNormalization(epsilon=2.0**-10), [2, 3, 4]),
    "unit_normalization": (lambda: layers.UnitNormalization(), [2, 3, 4]),
    "unit_normalization_axes": (lambda: layers.UnitNormalization(axis=[1, 2]), [2, 3, 2]),
    "relu": (lambda: layers.ReLU(max_value=0.75, negative_slope=0.5, threshold=0.25), [3, 7]),
    "relu_above": (lambda: layers.ReLU(threshold=0.5), [3, 7]),
    "leaky_relu": (lambda: layers.LeakyReLU(), [3, 7]),
    "prelu": (lambda: layers.PReLU(shared_axes=[1]), [2, 3, 4]),
    "elu": (lambda: layers.ELU(0.5), [3, 7]),
    "softmax": (lambda: layers.Softmax(1), [2, 3, 4]),
    "permute": (lambda: layers.Permute((3, 1, 2)), [2, 1, 3, 2]),
    "reshape": (lambda: layers.Reshape((4, -1)), [2, 3, 8]),
    "repeat_vector": (lambda: layers.RepeatVector(3), [2, 4]),
    "time_distributed": (lambda: layers.TimeDistributed(layers.Conv1D(2, 2)), [2, 3, 4, 2]),
    "einsum_dense": (lambda: layers.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d"), [2, 3, 4]),
    "einsum_dense_heads": (lambda: layers.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="d"), [2, 3, 4]),
    "einsum_dense_any": (lambda: layers.EinsumDense("...x,xy->...y", (5,), bias_axes="y"), [2, 3, 4]),
}

RECURRENT = {
    "simple_rnn": (lambda: layers.SimpleRNN(3), [2, 5, 4], {}),
    "simple_rnn_backwards": (
        lambda: layers.SimpleRNN(3, activation="relu", use_bias=False, return_sequences=True, go_backwards=True),
        [2, 5, 4],
        {},
    ),
    "gru": (lambda: layers.GRU(3), [2, 5, 4], {}),
    "gru_reset_before": (lambda: layers.GRU(3, reset_after=False, return_sequences=True), [2, 5, 4], {}),
    "gru_no_bias": (lambda: layers.GRU(3, use_bias=False), [2, 5, 4], {}),
    "gru_masked": (lambda: layers.GRU(3, return_sequences=True, return_state=True), [2, 5, 4], {"mask": MASK}),
    "lstm": (
        lambda: layers.LSTM(3, activation="softsign", recurrent_activation="hard_sigmoid", use_bias=False),
        [2, 5, 4],
        {},
    ),
    "lstm_masked": (
        lambda: layers.LSTM(3, return_sequences=True, return_state=True, zero_output_for_mask=True, go_backwards=True),
        [2, 5, 4],
        {"mask": MASK},
    ),
    "stacked": (
        lambda: layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_sequences=True, return_state=True),
        [2, 5, 4],
        {},
    ),
    "bidirectional": (lambda: layers.Bidirectional(layers.GRU(2, return_sequences=True)), [2, 5, 4], {}),
    "bidirectional_average": (lambda: layers.Bidirectional(layers.LSTM(2), merge_mode="ave"), [2, 5, 4], {"mask": None}),
    "conv_lstm1d": (lambda: layers.ConvLSTM1D(2, 2), [1, 3, 4, 2], {}),
    "conv_lstm2d": (lambda: layers.ConvLSTM2D(2, 2, padding="same", return_sequences=True), [1, 2, 3, 2, 1], {}),
}

ATTENTION_MASK = np.array([[[True, False, True, True], [False, True, False, False], [True, True, False, False]]] * 2)
SEQUENCES = [[2, 3, 4], [2, 4, 4]]
ATTENTION = {
    "attention": (lambda: layers.Attention(use_scale=True), SEQUENCES, {}),
    "attention_concat": (lambda: layers.Attention(use_scale=True, score_mode="concat"), SEQUENCES, {}),
    "attention_causal": (lambda: layers.Attention(), SEQUENCES, {"use_causal_mask": True}),
    "additive_attention": (lambda: layers.AdditiveAttention(), [*SEQUENCES, [2, 4, 4]], {}),
}
GROUPED = {
    "group_query_attention": (lambda: layers.GroupQueryAttention(3, 4, 2), SEQUENCES, {}),
    "group_query_attention_masked": (
        lambda: layers.GroupQueryAttention(3, 4, 2, use_bias=False),
        SEQUENCES,
        {"use_causal_mask": True, "attention_mask": ATTENTION_MASK},
    ),
}

MERGED = {
    "batch_dot": (lambda: layers.Dot((2, 1)), [[2, 3, 4], [2, 4, 2]]),
    "batch_dot_cosine": (lambda: layers.Dot(-1, normalize=True), [[3, 4], [3, 4]]),
    "batch_dot_more": (lambda: layers.Dot((1, 3)), [[2, 3, 2], [2, 2, 2, 3]]),
}

# No kink of any lies at one of these.
POINTS = np.array([-8.0, -3.5, -2.0, -1.25, -0.75, -0.375, -0.125, 0.125, 0.375, 0.75, 1.25, 2.0, 3.5, 8.0])
ACTIVATIONS = [
    "celu", "elu", "exponential", "gelu", "glu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh", "leaky_relu",
    "linear", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_shrink", "softmax",
    "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "squareplus", "tanh", "tanh_shrink",
]  # fmt: skip


def variables_of(layer):
    return layer.trainable_variables


def run(arrays, name, make, shapes, call=None, as_list=False, order=None):
    """Of one input, or, where `shapes` is a list of shapes, several."""
    several = isinstance(shapes[0], list)
    layer = make()
    inputs = [tf.constant(wave(s, 1.0 + i), layer.dtype) for i, s in enumerate(shapes if several else [shapes])]
    apply = lambda: layer(inputs if as_list else inputs[0], **(call or {})) if as_list or not several else layer(*inputs, **(call or {}))
    apply()
    variables = order(layer) if order else variables_of(layer)
    for i, v in enumerate(variables):
        v.assign(wave(v.shape, 10.0 + i))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = apply()
        ys = keras.tree.flatten(y)
        loss = tf.add_n([tf.reduce_sum(t**2) for t in ys])
    for i, t in enumerate(ys):
        arrays[f"{name}/y{i if len(ys) > 1 else ''}"] = t
    gradients = tape.gradient(loss, [inputs[0], *[v.value for v in variables]], unconnected_gradients="zero")
    arrays[f"{name}/dx"] = gradients[0]
    for i, g in enumerate(gradients[1:]):
        arrays[f"{name}/dv{i}"] = g


def in_our_order(layer):
    """Queries, keys, values, output."""
    by_name = {v.path.split("/", 1)[1]: v for v in layer.trainable_variables}
    names = [f"{part}/{kind}" for part in ("query", "key", "value", "attention_output") for kind in ("kernel", "bias")]
    present = [name for name in names if name in by_name]
    assert len(present) == len(by_name), by_name.keys()
    return [by_name[name] for name in present]


def activations(arrays):
    arrays["points"] = POINTS
    x = tf.constant(POINTS)
    for name in ACTIVATIONS:
        function = getattr(keras.activations, name)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
            loss = tf.reduce_sum(y**2)
        arrays[f"activation/{name}"] = np.stack([np.resize(y, POINTS.shape), tape.gradient(loss, x)])


def spectral_norm(arrays):
    layer = layers.SpectralNormalization(layers.Dense(3), power_iterations=2)
    x = tf.constant(wave([2, 4], 1.0))
    layer(x)
    layer.layer.kernel.assign(wave([4, 3], 10.0))
    layer.layer.bias.assign(wave([3], 11.0))
    layer.vector_u.assign(wave([1, 3], 12.0))
    arrays["spectral_norm/y"] = layer(x, training=True)
    arrays["after/spectral_norm/kernel"] = layer.layer.kernel
    arrays["after/spectral_norm/vector_u"] = layer.vector_u


def normalization(arrays):
    data, x = wave([5, 3], 2.0) * [1.0, 4.0, 0.5] + 3.0, wave([2, 3], 1.0)
    for invert in (False, True):
        layer = layers.Normalization(invert=invert)
        layer.adapt(data)
        arrays[f"normalization/{'inverted' if invert else 'y'}"] = layer(x)


def make(path):
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    arrays = {}
    for name, case in {**CONVOLUTIONS, **POOLS, **OTHERS, **RECURRENT}.items():
        run(arrays, name, *case)
    for name, case in {**ATTENTION, **MERGED}.items():
        run(arrays, name, *case, as_list=True)
    for name, case in GROUPED.items():
        run(arrays, name, *case, order=in_our_order)
    activations(arrays)
    spectral_norm(arrays)
    normalization(arrays)
    keras.config.set_floatx(before)
    arrays = {name: np.asarray(a, np.float32) for name, a in arrays.items()}
    save_arrays(path, arrays)
    return arrays
