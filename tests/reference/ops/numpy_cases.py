"""What NumPy, SciPy's definitions in NumPy's terms and tf.signal compute of functions that are built from ops
(numpy_functions.npz, float64 unless the name says more).

    input/NAME    what the functions are given
    NAME          the result of the line of the same name in tests/ops/numpy_functions_test.cc; of functions with several
                  results NAME/0, NAME/1 ...
"""

import warnings

import numpy as np
import tensorflow as tf
from cases import save_arrays

generator = np.random.default_rng(28)
INF, NAN = np.inf, np.nan


def drawn(*shape):
    return np.round(generator.uniform(-3, 3, shape), 3)


INPUTS = {
    "x": drawn(3, 4),
    "y": drawn(3, 4),
    "positive": np.abs(drawn(3, 4)) + 0.25,
    "cube": drawn(2, 3, 4),
    "square": drawn(3, 3),
    "vector": drawn(7),
    "short": drawn(3),
    "probabilities": np.round(generator.uniform(0.05, 0.95, (2, 5)), 3),
    "signal": drawn(2, 50),
    "special": np.array([0.0, -0.0, 1.5, -1.5, INF, -INF, NAN, 1e308, -5e-324, 1e-300]),
    "others": np.array([1.0, -2.0, -0.0, 0.0, INF, 3.0, 1.0, 1e308, 2.0, 1e-300]),
    "powers": np.array([1e-5, 0.001, 0.1, 1.0, 2.0, 8.0, 10.0, 1000.0, 1e15, 2.0**-30, 3.0]),
    "holes": np.array([[1.0, NAN, -2.0], [NAN, NAN, NAN], [0.0, 3.0, NAN]]),
    "ties": np.array([2.0, 1.0, 2.0, 3.0, 1.0, 2.0]),
    "integers": np.array([[5, 0, 3], [0, 0, -7]], np.int32),
    "positions": np.array([[0, 3], [1, -1], [2, 2]], np.int64),
    "points": np.array([-2.0, -1.0, 0.5, 2.0]),
    "heights": np.array([1.0, -1.0, 4.0, 0.0]),
    "bins": np.array([0.0, 0.1, 0.2, 0.25, 0.5, 0.5, 0.75, 0.9, 1.0, 1.0, 2.0, -1.0]),
}


def results():
    i = INPUTS
    x, y, cube, square, vector, short = (i[name] for name in ("x", "y", "cube", "square", "vector", "short"))
    special, others, signal, holes = i["special"], i["others"], i["signal"], i["holes"]
    r = {
        "log2": np.log2(i["powers"]),
        "log10": np.log10(i["powers"]),
        "exp2": np.exp2(x),
        "logaddexp": np.logaddexp(special, others),
        "hypot": np.hypot(x, y),
        "logit": np.log(i["probabilities"] / (1 - i["probabilities"])),
        "sinc": np.sinc(np.append(x, 0.0)),
        "deg2rad": np.deg2rad(x),
        "rad2deg": np.rad2deg(x),
        "trunc": np.trunc(special),
        "fmod": np.fmod(x, y),
        "remainder": np.remainder(x, y),
        "signbit": np.signbit(np.where(np.isnan(special), 1, special)),
        "copysign": np.copysign(special, others),
        "heaviside": np.heaviside(special, 0.25),
        "lerp": x + 0.25 * (y - x),
        "nan_to_num": np.nan_to_num(special),
        "nan_to_num_given": np.nan_to_num(special, nan=-1.0, posinf=2.0, neginf=-2.0),
        "isclose": np.isclose(special, special + 1e-9),
        "isclose_nan": np.isclose(special, special, equal_nan=True),
        "swapaxes": np.swapaxes(cube, 0, 2),
        "moveaxis": np.moveaxis(cube, 0, -1),
        "moveaxis_back": np.moveaxis(cube, -1, 1),
        "flatten": cube.reshape(2, 12),
        "rot90": np.rot90(cube),
        "rot90_twice": np.rot90(cube, 2),
        "rot90_back": np.rot90(cube, -1),
        "fliplr": np.fliplr(x),
        "flipud": np.flipud(x),
        "vstack": np.vstack([x, y, np.arange(4.0)]),
        "hstack": np.hstack([x, y]),
        "hstack_vectors": np.hstack([vector, short]),
        "block_diag": np.block([[x, np.zeros((3, 3))], [np.zeros((3, 4)), square]]),
        "kron": np.kron(x, square),
        "kron_ranks": np.kron(short, square),
        "diagonal": np.diagonal(cube),
        "diagonal_of": np.diagonal(cube, 1, 1, 2),
        "diagonal_below": np.diagonal(cube, -1, 2, 0),
        "diag_embed": np.stack([np.diag(row, 1) for row in x]),
        "take": np.take(cube, [[0, 5], [23, 1]]),
        "take_axis": np.take(cube, [2, 0, 0], axis=1),
        "take_along_axis": np.take_along_axis(x, i["positions"], axis=1),
        "take_along_axis_first": np.take_along_axis(x, np.array([[0, 2, 1, -1]]), axis=0),
        "take_along_axis_cube": np.take_along_axis(cube, np.array([[[1], [0], [2]]]), axis=2),
        "masked_select": x[x > 0],
        "masked_select_broadcast": x[np.broadcast_to(np.array([True, False, True, False]), x.shape)],
        "masked_fill": np.where(x > 0, 0.5, x),
        "isin": np.isin(i["ties"], [1.0, 3.0]),
        "isin_none": np.isin(i["ties"], np.zeros(0)),
        "logspace": np.logspace(-1, 2, 7),
        "geomspace": np.geomspace(-1, -1000, 4),
        "tri": np.tri(3, 5, 1),
        "vander": np.vander(short),
        "vander_increasing": np.vander(short, 5, increasing=True),
        "quantile": np.quantile(x, 0.6),
        "quantile_axis": np.quantile(cube, 0.7, axis=1),
        "quantile_axes": np.quantile(cube, 0.7, axis=(0, 2), keepdims=True),
        "quantile_list": np.quantile(cube, [0.0, 0.25, 1.0], axis=-1),
        "quantile_list_keep": np.quantile(cube, [0.5, 0.25], axis=1, keepdims=True),
        "quantile_nan": np.quantile(holes, 0.5, axis=0),
        "quantile_integers": np.quantile(i["integers"], 0.4),
        "percentile": np.percentile(x, 90, axis=0),
        "median": np.median(x),
        "median_axis": np.median(cube, axis=1),
        "nansum": np.nansum(holes, axis=1),
        "nansum_all": np.nansum(holes),
        "nanmean": np.nanmean(holes, axis=1),
        "nanmax": np.nanmax(holes, axis=1),
        "nanmin": np.nanmin(holes, axis=0),
        "count_nonzero": np.count_nonzero(i["integers"], axis=1),
        "ptp": np.ptp(cube, axis=1),
        "cov": np.cov(x),
        "cov_biased": np.cov(x, ddof=0),
        "cov_vector": np.cov(vector),
        "corrcoef": np.corrcoef(x),
        "dot": np.dot(cube, drawn_matrix()),
        "dot_vectors": np.dot(short, short),
        "inner": np.inner(cube, x),
        "tensordot": np.tensordot(cube, np.moveaxis(cube, 0, -1), 2),
        "tensordot_axes": np.tensordot(cube, cube, ([0, 2], [0, 2])),
        "tensordot_none": np.tensordot(short, vector, 0),
        "addmm": 0.5 * x + 2.0 * (square @ y),
        "cdist": np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1)),
        "l2_normalize": x / np.sqrt((x**2).sum(0, keepdims=True)),
        "trapezoid": np.trapezoid(cube, dx=0.5, axis=1),
        "trapezoid_at": np.trapezoid(cube, np.array([0.0, 1.0, 3.0]), axis=1),
        "cumulative_trapezoid": np.cumsum((x[:, 1:] + x[:, :-1]) / 2, axis=1),
        "interp": np.interp(x, i["points"], i["heights"]),
        "interp_ends": np.interp(np.array([-5.0, -2.0, 2.0, 7.0, 0.5]), i["points"], i["heights"]),
        "polyval": np.polyval(short, x),
        "polyfit": np.polyfit(vector, vector**3 - vector, 2),
        "convolve": np.convolve(vector, short),
        "convolve_same": np.convolve(vector, short, "same"),
        "convolve_same_even": np.convolve(vector, x[0], "same"),
        "convolve_valid": np.convolve(short, vector, "valid"),
        "hann_window": tf.signal.hann_window(10, dtype=tf.float64).numpy(),
        "hann_window_odd": 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(9) / 9),  # TensorFlow's is not periodic
        "hann_window_symmetric": np.hanning(8),
        "hamming_window": tf.signal.hamming_window(8, dtype=tf.float64).numpy(),
        "frame": tf.signal.frame(signal, 8, 3).numpy(),
        "frame_padded": tf.signal.frame(signal, 8, 5, pad_end=True).numpy(),
        "frame_none": tf.signal.frame(signal, 60, 5).numpy(),
        "overlap_and_add": tf.signal.overlap_and_add(tf.signal.frame(signal, 8, 3), 3).numpy(),
        "stft": tf.signal.stft(signal, 12, 5).numpy(),
        "stft_padded": tf.signal.stft(signal, 12, 5, fft_length=20, window_fn=None, pad_end=True).numpy(),
        "inverse_stft": tf.signal.inverse_stft(tf.signal.stft(signal, 12, 5), 12, 5).numpy(),
    }
    added = x.copy()
    np.add.at(added, (slice(None), [1, 1, 3]), square)
    r["index_add"] = added
    for name, values, bins, given in (
        ("histogram", x, 5, None),
        ("histogram_range", i["bins"], 4, (0, 1)),
        ("histogram_one", np.array([2.0, 2.0]), 4, None),
        ("histogram_integers", i["integers"], 3, None),
    ):
        r[f"{name}/0"], r[f"{name}/1"] = np.histogram(values, bins, given)
    return r


def drawn_matrix():
    return np.round(np.linspace(-2, 1.5, 20).reshape(4, 5), 3)


def make(path):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lines that are all NaN
        arrays = {f"input/{name}": value for name, value in INPUTS.items()} | results()
    arrays["input/matrix"] = drawn_matrix()
    save_arrays(path, {name: np.asarray(value) for name, value in arrays.items()})
    return arrays
