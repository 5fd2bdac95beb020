"""What Keras computes of losses, metrics, regularizers, constraints and initializers (losses.npz, float64).

    input/...            what they are given
    loss/NAME            of each sample, their mean, their sum, their mean with weights, the mean by the weights, and the
                         gradient of the mean with weights by the prediction
    plain/NAME           the loss of each sample of more dimensions or along other axes, without weights
    metric/NAME          the result after a first batch, after a second, and after both with weights
    regularizer/NAME     of the input `kernel`
    constraint/NAME      of the input `kernel`
    initializer/NAME     what the numbers are drawn with, for each shape of SHAPES: half the width of a uniform
                         distribution, the deviation of a normal one
    stft/NAME            the kernel [5, 1, 6]
    sampled/NAME         TensorFlow's losses over classes that are drawn, of the inputs `sampled_...`

NAMEs are those of the tests that make the same (tests/nn/training/losses_reference_test.cc,
tests/nn/metrics/metrics_reference_test.cc, tests/nn/layers/initializers_test.cc), which also say the options.
"""

import keras
import numpy as np
import tensorflow as tf
from cases import save_arrays

losses = keras.losses
metrics = keras.metrics
generator = np.random.default_rng(20260)


def uniform(low, high, shape):
    return np.round(generator.uniform(low, high, shape), 4)


def one_hot(labels, classes):
    return np.eye(classes)[labels]


INPUTS = {
    "values": np.array([[0.0, 1.5, -2.0], [3.0, -0.5, 0.25], [40.0, -30.0, 100.0], [-1.0, 1.0, 0.125], [1e-3, 2.0, -4.0]]),
    "targets": np.array([[1.0, 1.0, -2.5], [0.0, -0.5, 0.5], [38.0, -30.0, -100.0], [-1.5, 0.0, 0.25], [2e-3, 2.5, 4.0]]),
    "positive": uniform(0, 3, (5, 3)),
    "counts": np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 0.0], [1.0, 3.0, 2.0], [0.0, 0.0, 5.0], [1.0, 1.0, 1.0]]),
    "probabilities": np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.3, 0.6], [0.75, 0.125, 0.125], [0.2, 0.3, 0.5]]),
    "distributions": np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6], [0.25, 0.25, 0.5], [0.7, 0.1, 0.2]]),
    "logits": np.array([[0.0, 1.5, -2.0], [3.0, -0.5, 0.25], [4.0, -3.0, 6.0], [-5.0, 1.0, 0.125], [0.5, 0.25, -1.0]]),
    "truths": np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]),
    "signs": np.array([[-1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, -1.0]]),
    "one_hot": one_hot([1, 0, 2, 1, 1], 3),
    "labels": np.array([1, 0, 2, 1, 1]),
    "weights": np.array([1.0, 0.5, 2.0, 0.0, 0.25]),
    "embeddings": np.array(keras.utils.normalize(uniform(-1, 1, (5, 4)))),
    "references": np.array(keras.utils.normalize(uniform(-1, 1, (6, 4)))),
    "own_labels": np.array([1, 0, 1, 2, 0]),
    "reference_labels": np.array([0, 1, 1, 2, 3, 0]),
    "steps": uniform(-2, 2, (3, 6, 5)),
    "letters": np.array([[1, 2, 0, 0], [4, 4, 1, 0], [3, 0, 0, 0]]),
    "letters_weights": np.array([1.0, 0.5, 2.0]),
    # More dimensions.
    "cube": uniform(0.05, 0.95, (2, 3, 5)),
    "cube_targets": uniform(0, 1, (2, 3, 5)),
    "cube_labels": np.array([[0, 4, -1], [2, -1, 3]]),
    "cube_weights": np.array([[1.0, 0.5, 2.0], [0.25, 3.0, 1.5]]),
    "kernel": np.array([[0.5, -1.5, 0.0], [2.0, 0.25, 0.0], [-0.75, 1.0, 0.0], [0.125, -0.5, 1e-3]]),
    # Two batches.
    "scores1": uniform(0, 1, (7, 4)),
    "scores2": uniform(0, 1, (3, 4)),
    "answers1": (generator.random((7, 4)) < 0.4).astype(float),
    "answers2": (generator.random((3, 4)) < 0.4).astype(float),
    "classes1": np.array([1, 0, 3, 1, 2, 2, 3]),
    "classes2": np.array([2, 2, 0]),
    "guesses1": np.array([1, 0, 2, 1, 2, 3, 3]),
    "guesses2": np.array([2, 1, 0]),
    "numbers1": uniform(-2, 2, (7, 4)),
    "numbers2": uniform(-2, 2, (3, 4)),
    "near1": uniform(-2, 2, (7, 4)),
    "near2": uniform(-2, 2, (3, 4)),
    "weights1": np.array([1.0, 0.5, 2.0, 0.0, 0.25, 1.0, 3.0]),
    "weights2": np.array([2.0, 1.0, 0.5]),
    "integers1": np.array([1.0, 2.0, 2.0, 0.0, 3.0, 1.0, 3.0]),
    "integers2": np.array([2.0, 1.0, 5.0]),
    # Drawn classes.
    "sampled_weights": uniform(-1, 1, (7, 4)),
    "sampled_biases": uniform(-1, 1, (7,)),
    "sampled_inputs": uniform(-1, 1, (3, 4)),
    "sampled_labels": np.array([[1, 2], [6, 3], [0, 5]]),
    "sampled_candidates": np.array([3, 0, 5]),
    "sampled_true_counts": uniform(0.1, 1, (3, 2)),
    "sampled_counts": uniform(0.1, 1, (3,)),
}
INPUTS["answers1"][0] = [1, 0, 0, 1]

# Loss, its options, prediction, target. Options are sums of few powers of two: Keras passes most of them through float32.
LOSSES = {
    "mean_absolute_percentage_error": (losses.MeanAbsolutePercentageError, {}, "values", "targets"),
    "mean_squared_logarithmic_error": (losses.MeanSquaredLogarithmicError, {}, "positive", "counts"),
    "log_cosh": (losses.LogCosh, {}, "values", "targets"),
    "poisson": (losses.Poisson, {}, "positive", "counts"),
    "kl_divergence": (losses.KLDivergence, {}, "probabilities", "distributions"),
    "cosine_similarity": (losses.CosineSimilarity, {}, "values", "targets"),
    "hinge": (losses.Hinge, {}, "logits", "signs"),
    "hinge_binary": (losses.Hinge, {}, "logits", "truths"),
    "squared_hinge": (losses.SquaredHinge, {}, "logits", "truths"),
    "categorical_hinge": (losses.CategoricalHinge, {}, "logits", "one_hot"),
    "binary_focal": (losses.BinaryFocalCrossentropy, {}, "probabilities", "truths"),
    "binary_focal_logits": (
        losses.BinaryFocalCrossentropy,
        {"apply_class_balancing": True, "alpha": 0.375, "gamma": 3.0, "from_logits": True, "label_smoothing": 0.125},
        "logits",
        "truths",
    ),
    "categorical_focal": (losses.CategoricalFocalCrossentropy, {}, "distributions", "one_hot"),
    "categorical_focal_logits": (
        losses.CategoricalFocalCrossentropy,
        {"alpha": [0.25, 0.5, 1.0], "gamma": 1.5, "from_logits": True, "label_smoothing": 0.125},
        "logits",
        "one_hot",
    ),
    "generalized": (losses.CategoricalGeneralizedCrossEntropy, {"q": 0.75}, "positive", "labels"),
    "dice": (losses.Dice, {"axis": [1]}, "probabilities", "truths"),
    "tversky": (losses.Tversky, {"alpha": 0.25, "beta": 0.75, "axis": [1]}, "probabilities", "truths"),
    "circle": (losses.Circle, {}, "embeddings", "own_labels"),
    "circle_diagonal": (losses.Circle, {"gamma": 16.0, "margin": 0.25, "remove_diagonal": False}, "embeddings", "own_labels"),
    "ctc": (losses.CTC, {}, "steps", "letters"),
}


def loss_values(kind, options, prediction, target):
    weights = tf.constant(INPUTS["letters_weights" if prediction == "steps" else "weights"])
    prediction, target = tf.constant(INPUTS[prediction]), tf.constant(INPUTS[target])
    each = kind(reduction="none", **options)(target, prediction)
    mean, total = kind(**options)(target, prediction), kind(reduction="sum", **options)(target, prediction)
    by_weight = kind(reduction="mean_with_sample_weight", **options)(target, prediction, sample_weight=weights)
    with tf.GradientTape() as tape:
        tape.watch(prediction)
        weighted = kind(**options)(target, prediction, sample_weight=weights)
    gradient = tape.gradient(weighted, prediction)
    return np.concatenate([each, [mean, total, weighted, by_weight], np.ravel(gradient)])


def plain_losses():
    cube, targets, labels = (tf.constant(INPUTS[name]) for name in ("cube", "cube_targets", "cube_labels"))
    weights = tf.constant(INPUTS["cube_weights"])
    sparse = {"ignore_class": -1}
    return {
        "mape": losses.mean_absolute_percentage_error(targets, cube),
        "cosine_1": losses.cosine_similarity(targets, cube, axis=1),
        "binary_1": losses.binary_crossentropy(targets, cube, axis=1),
        "categorical_1": losses.categorical_crossentropy(targets, cube, axis=1),
        "binary_focal_0": losses.binary_focal_crossentropy(targets, cube, axis=0),
        "categorical_focal_1": losses.categorical_focal_crossentropy(targets, cube, axis=1),
        "dice": losses.dice(targets, cube),
        "dice_axes": losses.dice(targets, cube, axis=(1, 2)),
        "tversky": losses.tversky(targets, cube),
        "generalized": losses.categorical_generalized_cross_entropy(np.maximum(INPUTS["cube_labels"], 0), cube, 0.5),
        "sparse_ignored": losses.sparse_categorical_crossentropy(labels, cube, **sparse),
        "sparse_ignored_mean": losses.SparseCategoricalCrossentropy(**sparse)(labels, cube),
        "sparse_ignored_sum": losses.SparseCategoricalCrossentropy(reduction="sum", **sparse)(labels, cube),
        "sparse_ignored_weighted": losses.SparseCategoricalCrossentropy(**sparse)(labels, cube, sample_weight=weights),
        "sparse_0": losses.sparse_categorical_crossentropy(
            np.array([[0, 1, 1, 0, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]), np.transpose(INPUTS["cube"], (1, 2, 0))
        ),
        "circle_references": losses.circle(
            INPUTS["own_labels"],
            INPUTS["embeddings"],
            ref_labels=INPUTS["reference_labels"],
            ref_embeddings=INPUTS["references"],
            remove_diagonal=False,
            gamma=16.0,
        ),
        "weighted_cross_entropy": tf.nn.weighted_cross_entropy_with_logits(
            INPUTS["truths"], INPUTS["logits"], np.array([0.5, 2.0, 1.5])
        ),
    }


# Metric, prediction, target, weights.
PAIRS = {
    "scores": ("scores", "answers", "weights"),
    "classes": ("scores", "classes", "weights"),
    "one_hot": ("scores", "one_hot", "weights"),
    "numbers": ("numbers", "near", "weights"),
    "signed": ("numbers", "answers", "weights"),
    "guesses": ("guesses", "classes", "integers"),
    "matrix": ("scores", "answers", "matrix"),
    "narrow": ("scores32", "classes", "weights"),
    "narrow_one_hot": ("scores32", "one_hot", "weights"),
}
METRICS = {
    "accuracy": (lambda: metrics.Accuracy(), "guesses"),
    "binary_accuracy": (lambda: metrics.BinaryAccuracy(threshold=0.625), "scores"),
    "categorical_accuracy": (lambda: metrics.CategoricalAccuracy(), "one_hot"),
    "sparse_categorical_accuracy": (lambda: metrics.SparseCategoricalAccuracy(), "classes"),
    "top_k": (lambda: metrics.TopKCategoricalAccuracy(k=2), "narrow_one_hot"),
    "sparse_top_k": (lambda: metrics.SparseTopKCategoricalAccuracy(k=3), "narrow"),
    "mean_squared_error": (lambda: metrics.MeanSquaredError(), "numbers"),
    "mean_absolute_error": (lambda: metrics.MeanAbsoluteError(), "numbers"),
    "mean_absolute_percentage_error": (lambda: metrics.MeanAbsolutePercentageError(), "numbers"),
    "mean_squared_logarithmic_error": (lambda: metrics.MeanSquaredLogarithmicError(), "numbers"),
    "root_mean_squared_error": (lambda: metrics.RootMeanSquaredError(), "numbers"),
    "log_cosh": (lambda: metrics.LogCoshError(), "numbers"),
    "cosine_similarity": (lambda: metrics.CosineSimilarity(), "numbers"),
    "kl_divergence": (lambda: metrics.KLDivergence(), "scores"),
    "poisson": (lambda: metrics.Poisson(), "scores"),
    "hinge": (lambda: metrics.Hinge(), "signed"),
    "squared_hinge": (lambda: metrics.SquaredHinge(), "signed"),
    "categorical_hinge": (lambda: metrics.CategoricalHinge(), "one_hot"),
    "binary_crossentropy": (lambda: metrics.BinaryCrossentropy(label_smoothing=0.125), "scores"),
    "binary_crossentropy_logits": (lambda: metrics.BinaryCrossentropy(from_logits=True), "signed"),
    "categorical_crossentropy": (lambda: metrics.CategoricalCrossentropy(), "one_hot"),
    "sparse_categorical_crossentropy": (lambda: metrics.SparseCategoricalCrossentropy(from_logits=True), "classes"),
    "pearson": (lambda: metrics.PearsonCorrelation(), "numbers"),
    "concordance": (lambda: metrics.ConcordanceCorrelation(), "numbers"),
    "r2": (lambda: metrics.R2Score(), "numbers"),
    "r2_none": (lambda: metrics.R2Score(class_aggregation=None), "numbers"),
    "r2_variance": (lambda: metrics.R2Score(class_aggregation="variance_weighted_average"), "numbers"),
    "r2_adjusted": (lambda: metrics.R2Score(num_regressors=2), "numbers"),
    "f1": (lambda: metrics.F1Score(), "scores"),
    "f1_micro": (lambda: metrics.F1Score(average="micro", threshold=0.5), "scores"),
    "f1_macro": (lambda: metrics.F1Score(average="macro"), "one_hot"),
    "fbeta_weighted": (lambda: metrics.FBetaScore(average="weighted", beta=2.0, threshold=0.375), "scores"),
    "true_positives": (lambda: metrics.TruePositives(), "scores"),
    "true_negatives": (lambda: metrics.TrueNegatives(thresholds=[0.75, 0.25]), "scores"),
    "false_positives": (lambda: metrics.FalsePositives(thresholds=[0.125, 0.375, 0.875]), "scores"),
    "false_negatives": (lambda: metrics.FalseNegatives(), "matrix"),
    "precision": (lambda: metrics.Precision(), "scores"),
    "precision_thresholds": (lambda: metrics.Precision(thresholds=[0.25, 0.75]), "scores"),
    "precision_top_k": (lambda: metrics.Precision(top_k=2), "scores"),
    "recall": (lambda: metrics.Recall(), "matrix"),
    "recall_class": (lambda: metrics.Recall(class_id=1), "scores"),
    "recall_top_k_class": (lambda: metrics.Recall(top_k=2, class_id=3, thresholds=[0.25, 0.5]), "scores"),
    "sensitivity_at_specificity": (lambda: metrics.SensitivityAtSpecificity(0.5), "scores"),
    "specificity_at_sensitivity": (lambda: metrics.SpecificityAtSensitivity(0.5, num_thresholds=50), "scores"),
    "precision_at_recall": (lambda: metrics.PrecisionAtRecall(0.5, class_id=0), "scores"),
    "recall_at_precision": (lambda: metrics.RecallAtPrecision(0.5), "scores"),
    "recall_at_precision_one": (lambda: metrics.RecallAtPrecision(0.25, num_thresholds=1), "scores"),
    "auc": (lambda: metrics.AUC(), "scores"),
    "auc_minoring": (lambda: metrics.AUC(num_thresholds=10, summation_method="minoring"), "scores"),
    "auc_majoring_pr": (lambda: metrics.AUC(num_thresholds=10, curve="PR", summation_method="majoring"), "scores"),
    "auc_pr": (lambda: metrics.AUC(curve="PR"), "scores"),
    "auc_pr_gain": (lambda: metrics.AUC(curve="PRGAIN"), "scores"),
    "auc_thresholds": (lambda: metrics.AUC(thresholds=[0.75, 0.125, 0.5]), "scores"),
    "auc_labels": (lambda: metrics.AUC(multi_label=True, num_labels=4), "scores"),
    "auc_labels_pr": (
        lambda: metrics.AUC(curve="PR", multi_label=True, num_labels=4, label_weights=[1.0, 2.0, 0.5, 1.5]),
        "scores",
    ),
    "auc_label_weights": (lambda: metrics.AUC(label_weights=[1.0, 2.0, 0.5, 1.5]), "scores"),
    "auc_logits": (lambda: metrics.AUC(from_logits=True), "signed"),
    "mean_iou": (lambda: metrics.MeanIoU(4), "guesses"),
    "mean_iou_ignored": (lambda: metrics.MeanIoU(5, ignore_class=2), "guesses"),
    "iou": (lambda: metrics.IoU(4, [0, 3]), "guesses"),
    "iou_scores": (lambda: metrics.IoU(4, [1, 2], sparse_y_pred=False, dtype="float64"), "classes"),
    "binary_iou": (lambda: metrics.BinaryIoU(threshold=0.375, dtype="float64"), "matrix"),
    "one_hot_iou": (lambda: metrics.OneHotIoU(4, [0, 2], dtype="float64"), "one_hot"),
    "one_hot_mean_iou": (lambda: metrics.OneHotMeanIoU(4, dtype="float64"), "one_hot"),
}


def batch(name, number):
    if name == "one_hot":
        return one_hot(INPUTS[f"classes{number}"], 4)
    if name == "scores32":  # TensorFlow's op takes no other
        return INPUTS[f"scores{number}"].astype(np.float32)
    if name == "matrix":  # of weights: each element has its own
        return 0.5 + np.abs(INPUTS[f"numbers{number}"])
    return INPUTS[f"{name}{number}"]


def metric_values(make, kind):
    prediction, target, weights = PAIRS[kind]
    plain, weighted, results = make(), make(), []
    for number in (1, 2):
        plain.update_state(batch(target, number), batch(prediction, number))
        weighted.update_state(batch(target, number), batch(prediction, number), sample_weight=batch(weights, number))
        results.append(np.ravel(plain.result()))
    return np.concatenate([*results, np.ravel(weighted.result())]).astype(float)


def values_metrics():
    """Of values [7, 4] and [3, 4]: without weights, with weights of rows, and with those of elements."""
    result = {}
    for name, kind in (("mean", metrics.Mean), ("sum", metrics.Sum)):
        numbers = []
        for weights in (None, "weights", "matrix"):
            metric = kind()
            for number in (1, 2):
                metric.update_state(INPUTS[f"numbers{number}"], sample_weight=weights and batch(weights, number))
            metric.update_state(3.0)
            numbers.append(float(metric.result()))
        result[name] = np.array(numbers)
    return result


def regularizers():
    kernel, r = tf.constant(INPUTS["kernel"]), keras.regularizers
    made = {
        "l1": r.L1(0.125),
        "l2": r.L2(0.0625),
        "l1_l2": r.L1L2(0.125, 0.0625),
        "orthogonal_rows": r.OrthogonalRegularizer(0.25),
        "orthogonal_columns": r.OrthogonalRegularizer(0.25, mode="columns"),
    }
    # The orthogonal ones have their factor in float32.
    types = {name: tf.float32 if name.startswith("orthogonal") else tf.float64 for name in made}
    return {name: np.float64(made[name](tf.cast(kernel, types[name]))) for name in made}


def constraints():
    kernel, c = tf.constant(INPUTS["kernel"]), keras.constraints
    made = {
        "max_norm": c.MaxNorm(),
        "max_norm_1": c.MaxNorm(0.75, axis=1),
        "min_max_norm": c.MinMaxNorm(0.5, 1.5, rate=0.75, axis=[0, 1]),
        "min_max_norm_defaults": c.MinMaxNorm(),
        "non_neg": c.NonNeg(),
        "unit_norm": c.UnitNorm(),
    }
    return {name: np.array(constraint(kernel)) for name, constraint in made.items()}


SHAPES = [(), (5,), (3, 7), (0, 4), (3, 2, 5), (2, 3, 4, 6)]


def initializers():
    """What Keras asks its generators for."""
    import keras.src.initializers.random_initializers as module

    asked = []
    before = module.random

    class Spy:
        make_default_seed = staticmethod(before.make_default_seed)

        @staticmethod
        def uniform(shape, minval, maxval, **_):
            assert minval == -maxval
            asked.append(maxval)

        @staticmethod
        def normal(shape, mean, stddev, **_):
            asked.append(stddev)

        truncated_normal = normal

    i = keras.initializers
    made = {
        "glorot_uniform": i.GlorotUniform(),
        "glorot_normal": i.GlorotNormal(),
        "he_uniform": i.HeUniform(),
        "he_normal": i.HeNormal(),
        "lecun_uniform": i.LecunUniform(),
        "lecun_normal": i.LecunNormal(),
        "variance_scaling": i.VarianceScaling(),
        "variance_scaling_out": i.VarianceScaling(3.0, mode="fan_out", distribution="uniform"),
        "variance_scaling_avg": i.VarianceScaling(0.5, mode="fan_avg", distribution="untruncated_normal"),
    }
    result = {}
    module.random = Spy
    try:
        for name, initializer in made.items():
            asked.clear()
            for shape in SHAPES:
                initializer(shape)
            result[name] = np.array(asked)
    finally:
        module.random = before
    return result


def stft():
    # By name windows are SciPy's; NumPy's are the same.
    hann, periodic_hamming = np.hanning(5), np.hamming(6)[:-1]
    made = {
        "real": keras.initializers.STFT("real", hann),
        "imag": keras.initializers.STFT("imag", periodic_hamming, "spectrum"),
        "plain": keras.initializers.STFT("real", None, None),
    }
    return {name: np.array(initializer((5, 1, 6))) for name, initializer in made.items()}


def sampled():
    """In float32, in which TensorFlow counts."""
    arrays = {name: INPUTS[f"sampled_{name}"] for name in ("weights", "biases", "inputs", "true_counts", "counts")}
    arrays = {name: tf.constant(array, tf.float32) for name, array in arrays.items()}
    drawn = (tf.constant(INPUTS["sampled_candidates"]), arrays["true_counts"], arrays["counts"])
    result = {}
    for name, function, remove in (
        ("nce", tf.nn.nce_loss, False),
        ("nce_removed", tf.nn.nce_loss, True),
        ("softmax", tf.nn.sampled_softmax_loss, True),
        ("softmax_kept", tf.nn.sampled_softmax_loss, False),
    ):
        with tf.GradientTape() as tape:
            tape.watch(arrays["weights"])
            tape.watch(arrays["inputs"])
            each = function(
                arrays["weights"], arrays["biases"], tf.constant(INPUTS["sampled_labels"]), arrays["inputs"], 3, 7,
                num_true=2, sampled_values=drawn, remove_accidental_hits=remove,
            )  # fmt: skip
        by_weights, by_inputs = tape.gradient(each, [arrays["weights"], arrays["inputs"]])
        by_weights = tf.convert_to_tensor(by_weights)
        result[name] = np.concatenate([each, np.ravel(by_weights), np.ravel(by_inputs)]).astype(np.float64)
    return result


def make(path):
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    arrays = {f"input/{name}": array for name, array in INPUTS.items()}
    for name, case in LOSSES.items():
        arrays[f"loss/{name}"] = loss_values(*case)
    for name, case in METRICS.items():
        arrays[f"metric/{name}"] = metric_values(*case)
    groups = {
        "plain": plain_losses(),
        "metric": values_metrics(),
        "regularizer": regularizers(),
        "constraint": constraints(),
        "initializer": initializers(),
        "stft": stft(),
        "sampled": sampled(),
    }
    for group, members in groups.items():
        for name, array in members.items():
            arrays[f"{group}/{name}"] = np.asarray(array)
    keras.config.set_floatx(before)
    save_arrays(path, arrays)
    return arrays
