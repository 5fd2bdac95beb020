"""What Keras computes of layers that change images, and of spectrograms (image_layers.npz).

    image            what they are given: [3, 6, 8, 3], float32 from 0 to 255
    number           [3] each
    NAME             what `transform_images` gives for `image` and the numbers that the test names
    spectrogram/...  of `sound`

NAMEs are those of the tests that make the same (tests/nn/layers/image_augmentation_test.cc, spectrogram_test.cc).
"""

import keras
import numpy as np
import tensorflow as tf
from cases import save_arrays
from training_cases import wave

layers = keras.layers

NUMBERS = np.array([0.25, -0.125, 0.0625], np.float32)
POSITIVE = np.array([0.75, 1.25, 0.5], np.float32)
CHOSEN = np.array([True, False, True])
UNIT = (0, 1)


def columns(x):
    return np.reshape(x, (-1, 1, 1, 1))


def rotation(layer, images):
    zeros, ones = np.zeros(3, np.float32), np.ones(3, np.float32)
    matrix = layer._compute_affine_matrix(
        0.5, 0.5, tf.constant(NUMBERS * 360), zeros, zeros, ones, zeros, zeros, images.shape[1], images.shape[2]
    )
    return {"rotation_matrix": matrix}


def warps(images):
    for mode in ("reflect", "wrap", "nearest", "constant"):
        for interpolation in ("bilinear", "nearest"):
            options = {"fill_mode": mode, "interpolation": interpolation, "fill_value": 7.0}
            layer = layers.RandomRotation(0.5, **options)
            yield f"rotation/{mode}/{interpolation}", layer.transform_images(images, rotation(layer, images))
    zooms = {"height_zoom": POSITIVE[:, None], "width_zoom": (1 + NUMBERS)[:, None], "input_shape": images.shape}
    yield "zoom", layers.RandomZoom(0.5).transform_images(images, zooms)
    height, width = images.shape[1:3]
    moves = np.stack([NUMBERS * width, NUMBERS[::-1] * height], axis=1)
    moves = {"translations": tf.constant(moves), "input_shape": images.shape}
    yield "translation", layers.RandomTranslation(0.5, 0.5).transform_images(images, moves)
    shears = {"shear_factor": tf.constant(np.stack([NUMBERS, NUMBERS[::-1]], axis=1)), "input_shape": images.shape}
    yield "shear", layers.RandomShear(0.5, 0.5).transform_images(images, shears)
    corners = np.array([[[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]]] * 3, np.float32)
    moved = corners + corners * wave([3, 4, 2], 5).astype(np.float32) * 0.25
    points = {"start_points": corners, "end_points": moved, "apply_perspective": tf.constant([True] * 3)}
    yield "perspective", layers.RandomPerspective().transform_images(images, points)
    crop = layers.RandomCrop(4, 5)
    yield "crop", crop.transform_images(images, (1, 2))
    for name, size in (("crop_of_few", (7, 5)), ("crop_of_less", (9, 10))):
        crop = layers.RandomCrop(*size)
        yield name, crop.transform_images(images, crop.get_random_transformation(images))
    flips = {"flips": columns(CHOSEN), "input_shape": images.shape}
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        yield f"flip/{mode}", layers.RandomFlip(mode).transform_images(images, flips)
    # What elastic_transform does when it has its fields.
    fields = [2 * wave([3, height, width], s).astype(np.float32) for s in (3, 4)]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    for interpolation, order in (("bilinear", 1), ("nearest", 0)):
        bent = [
            np.stack(
                [
                    keras.ops.image.map_coordinates(
                        images[b, ..., c], [y + fields[1][b], x + fields[0][b]], order, fill_mode="reflect"
                    )
                    for c in range(3)
                ],
                axis=-1,
            )
            for b in range(3)
        ]
        yield f"elastic/{interpolation}", np.stack(bent)


def colours(images):
    small = images / 255
    share = tf.constant(columns(NUMBERS))
    yield "brightness", layers.RandomBrightness(0.5).transform_images(images, {"rgb_delta": share * 255})
    factor = {"contrast_factor": tf.constant(columns(POSITIVE))}
    yield "contrast", layers.RandomContrast(0.5).transform_images(images, factor)
    factor = {"factor": tf.constant(POSITIVE)}
    yield "saturation", layers.RandomSaturation(0.5).transform_images(images, factor)
    yield "saturation/unit", layers.RandomSaturation(0.5, UNIT).transform_images(small, factor)
    turns = {"factor": tf.constant(NUMBERS)}
    yield "hue", layers.RandomHue(0.5).transform_images(images, turns)
    yield "hue/unit", layers.RandomHue(0.5, UNIT).transform_images(small, turns)
    degrees = {"factor": tf.constant(columns(NUMBERS))}
    yield "degeneration", layers.RandomColorDegeneration(0.5).transform_images(images, degrees)
    yield "grayscale", layers.RandomGrayscale(0.5).transform_images(images, tf.constant(columns(CHOSEN)))
    yield "invert", layers.RandomInvert(0.5).transform_images(images, {"apply_inversion": tf.constant(CHOSEN)})
    bits = {"shift_factor": tf.constant([8 - b for b in (1, 3, 6)], tf.uint8)}
    yield "posterization", layers.RandomPosterization(3).transform_images(images, bits)
    yield "posterization/unit", layers.RandomPosterization(3, UNIT).transform_images(small, bits)
    yield "sharpness", layers.RandomSharpness(0.5).transform_images(images, {"factor": tf.constant(POSITIVE)})
    factors = {"additions": tf.constant(columns(NUMBERS * 255)), "thresholds": tf.constant(columns(POSITIVE * 100))}
    yield "solarization", layers.Solarization(0.5, 0.5).transform_images(images, factors)
    yield "solarization/unit", layers.Solarization(0.5, 0.5, UNIT).transform_images(small, factors)
    yield "auto_contrast", layers.AutoContrast().transform_images(images)
    yield "auto_contrast/unit", layers.AutoContrast(UNIT).transform_images(small)
    yield "equalization", layers.Equalization().transform_images(images, None)
    yield "equalization/unit", layers.Equalization(UNIT, bins=64).transform_images(small, None)
    clahe = layers.ContrastLimitedAdaptiveHistogramEqualization
    yield "clahe", clahe(tile_grid_size=(2, 3)).transform_images(images)
    yield "clahe/unit", clahe(UNIT, clip_limit=8.0, tile_grid_size=(3, 4)).transform_images(small)
    blur = {"should_apply_blur": tf.constant(CHOSEN), "blur_factor": tf.constant([0.75, 0.5])}
    yield "blur", layers.RandomGaussianBlur(kernel_size=5).transform_images(images, blur)


def mixed(images):
    order = tf.constant([2, 0, 1])
    weights = {"mix_weight": tf.constant(np.abs(NUMBERS)), "permutation_order": order}
    yield "mix_up", layers.MixUp().transform_images(images, weights)
    cut = layers.CutMix()
    boxes = tuple(tf.constant(b, tf.float32) for b in ([0.5, 2, 3], [4, 7.5, 3.5], [1, 0.25, 2], [3, 2.25, 6]))
    masks, _ = cut._generate_batch_mask(images.shape, boxes)
    yield "cut_mix", cut.transform_images(images, {"permutation_order": order, "batch_masks": masks})
    erasing = layers.RandomErasing(fill_value=9.0)
    parts = {"apply_erasing": tf.constant(CHOSEN), "batch_masks": masks}
    parts["fill_value"] = erasing._get_fill_value(images, images.shape, 0)
    yield "erasing", erasing.transform_images(images, parts)


def spectrograms(sound):
    # By name windows are SciPy's; NumPy's are the same.
    hann, hamming, periodic = np.hanning(16), np.hamming(16), np.hanning(17)[:-1]
    small = {"frame_length": 16, "frame_step": 6, "fft_length": 32}
    three = sound.reshape(2, 60, 2)
    stft = layers.STFTSpectrogram
    for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft"):
        yield f"stft/{mode}", stft(mode=mode, window=hann, **small)(three)
    yield "stft/same", stft(mode="magnitude", padding="same", window=hamming, **small)(three)
    yield "stft/images", stft(mode="magnitude", window=hann, expand_dims=True, scaling="spectrum", **small)(three)
    yield "stft/plain", stft(mode="psd", frame_length=12, window=None, scaling=None)(three)
    yield "stft/periodic", stft(mode="real", window=periodic, **small)(three)
    flat = sound.reshape(2, 120)
    mel = {"fft_length": 32, "sequence_stride": 10, "num_mel_bins": 6, "sampling_rate": 1000}
    yield "mel", layers.MelSpectrogram(**mel)(flat)
    yield "mel/one", layers.MelSpectrogram(**mel)(flat[0])
    yield "mel/power", layers.MelSpectrogram(power_to_db=False, mag_exp=1.0, sequence_length=20, **mel)(flat)
    yield "mel/hamming", layers.MelSpectrogram(window="hamming", top_db=5.0, ref_power=2.0, max_freq=300, **mel)(flat)
    yield "mel/long", layers.MelSpectrogram()(wave([1, 5000], 2).astype(np.float32))


def make(path):
    keras.config.set_dtype_policy("float32")  # the first layer that is made fixes it, and others are made as float64
    images = np.round((wave([3, 6, 8, 3], 1) + 1) * 127.5).astype(np.float32)
    images[1, :, :, 2] = 40.0
    sound = wave([240], 3).astype(np.float32)
    arrays = {"image": images, "sound": sound}
    for group in (warps, colours, mixed):
        arrays |= {name: np.asarray(value, np.float32) for name, value in group(tf.constant(images))}
    arrays |= {f"spectrogram/{name}": np.asarray(value, np.float32) for name, value in spectrograms(sound)}
    save_arrays(path, arrays)
    return arrays

