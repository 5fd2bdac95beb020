"""What TensorFlow computes of encoded images and sound (media.npz).

    FILE/NAME              the bytes of a file, uint8
    OP;attr=value;...#LABEL/iN   input N of a call, by flat position
    OP;attr=value;...#LABEL/sN   the same, a string, as uint8
    OP;attr=value;...#LABEL/fN   the same, a string: the name of a file, as uint8
    OP;attr=value;...#LABEL/oN   output N
    OP;attr=value;...#LABEL/tN   the same, a string, as uint8
    OP;attr=value;...#LABEL/=KN  the key of an array that KN is equal to, as uint8

Values of attributes: 3, 0.5, true, dtype:uint16, [0.5,1.0]; all else is a string. tests/device/media_test.cc makes
the calls.
"""

import pathlib
import struct

import numpy as np
import tensorflow as tf
from cases import save_arrays
from tensorflow.python.framework import op_def_registry

IMAGES = pathlib.Path(__file__).parents[2] / "nn/data/images"


def attr_text(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tf.DType):
        return "dtype:" + value.name
    if isinstance(value, list):
        return "[" + ",".join(attr_text(v) for v in value) + "]"
    return repr(float(value)) if isinstance(value, float) else str(value)


class Calls:
    def __init__(self):
        self.arrays = {}
        self.count = 0

    def file(self, name, content):
        self.arrays["FILE/" + name] = np.frombuffer(content, np.uint8)

    def shared(self):
        """The arrays, and for inputs and outputs that others equal only `.../=KIND`, the bytes of the other's key."""
        first, result = {}, {}
        for key, array in self.arrays.items():
            same = (array.dtype.str, array.shape, array.tobytes())
            if array.nbytes > 200 and same in first:
                head, kind = key.rsplit("/", 1)
                result[f"{head}/={kind}"] = np.frombuffer(first[same].encode(), np.uint8)
            else:
                first[same] = key
                result[key] = array
        return result

    # Inputs in the signature's order; `file` stands for the first one, `label` tells calls apart.
    def add(self, op, inputs=(), label="", file=None, **attrs):
        self.count += 1
        key = ";".join([op, *(f"{k}={attr_text(v)}" for k, v in attrs.items())]) + f"#{label or file}"
        definition = tf.raw_ops.__dict__[op]
        names = [a.name for a in op_def_registry.get(op).input_arg]
        values = {}
        if file is not None:
            inputs = [self.arrays["FILE/" + file].tobytes(), *inputs]
        for i, (name, value) in enumerate(zip(names, inputs, strict=True)):
            values[name] = tf.constant(value)
            if i == 0 and file is not None:
                self.arrays[f"{key}/f0"] = np.frombuffer(file.encode(), np.uint8)
            elif isinstance(value, bytes):
                self.arrays[f"{key}/s{i}"] = np.frombuffer(value, np.uint8)
            elif isinstance(value, list):
                for k, item in enumerate(value):
                    self.arrays[f"{key}/s{i + k}"] = np.frombuffer(item, np.uint8)
            else:
                self.arrays[f"{key}/i{i}"] = np.asarray(value)
        # An attribute that is a tensor makes an op one that only graphs have.
        graph_only = op == "ImageSummary"
        result = tf.function(lambda: definition(**values, **attrs))() if graph_only else definition(**values, **attrs)
        result = list(result) if isinstance(result, (tuple, list)) else [result]
        for i, tensor in enumerate(result):
            value = tensor.numpy()
            if isinstance(value, bytes):
                self.arrays[f"{key}/t{i}"] = np.frombuffer(value, np.uint8)
            else:
                self.arrays[f"{key}/o{i}"] = value


def bmp(width, height, bits, pixels):
    size = ((bits // 8 * width + 3) // 4 * 4) * abs(height)
    return (
        b"BM"
        + struct.pack("<IHHI", 54 + size, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0)
        + pixels[:size].tobytes()
    )


def lzw(pixels, bits):
    """Codes of one pixel each; the table is cleared before it grows."""
    clear, end, out, buffer, filled = 1 << bits, (1 << bits) + 1, bytearray(), 0, 0
    codes = []
    for i, pixel in enumerate(pixels):
        if i % ((1 << bits) - 2) == 0:
            codes.append(clear)
        codes.append(int(pixel))
    for code in [*codes, end]:
        buffer |= code << filled
        filled += bits + 1
        while filled >= 8:
            out.append(buffer & 255)
            buffer >>= 8
            filled -= 8
    if filled:
        out.append(buffer)
    blocks = b"".join(bytes([len(out[i : i + 255])]) + bytes(out[i : i + 255]) for i in range(0, len(out), 255))
    return bytes([bits]) + blocks + b"\0"


def gif(width, height, frames):
    """frames: left, top, pixels [height, width], colour that is none, own colours, interlaced."""
    colours = bytes((i * 37 + 11) % 256 for i in range(24))
    out = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80 | 2, 0, 0) + colours
    for left, top, pixels, none, own, interlaced in frames:
        if none is not None:
            out += b"\x21\xf9\x04" + bytes([1, 5, 0, none]) + b"\0"
        out += b"\x21\xfe\x03abc\0"
        rows, columns = pixels.shape
        flags = (0x80 | 2 if own else 0) | (0x40 if interlaced else 0)
        out += b"\x2c" + struct.pack("<HHHHB", left, top, columns, rows, flags)
        if own:
            out += bytes((i * 91 + 3) % 256 for i in range(24))
        if interlaced:
            order = [*range(0, rows, 8), *range(4, rows, 8), *range(2, rows, 4), *range(1, rows, 2)]
            pixels = pixels[order]
        out += lzw(pixels.ravel(), 3)
    return out + b";"


def pixels(*shape, dtype=np.uint8):
    n = np.arange(np.prod(shape), dtype=np.int64)
    return (n * 37 + n * n // 3 + (n * 7919 if dtype == np.uint16 else 0)).reshape(shape).astype(dtype)


def files(calls):
    for name in ("colours", "grey", "progressive", "cmyk", "full_colours"):
        calls.file(name, (IMAGES / f"{name}.jpg").read_bytes())
    for channels in (1, 2, 3, 4):
        calls.file(f"png{channels}", tf.io.encode_png(pixels(5, 7, channels)).numpy())
        calls.file(f"wide{channels}", tf.io.encode_png(pixels(4, 3, channels, dtype=np.uint16)).numpy())
    for bits in (8, 24, 32):
        calls.file(f"bmp{bits}", bmp(5, 3, bits, pixels(100)))
    calls.file("bmp_down", bmp(5, -3, 24, pixels(100)))
    whole, part = pixels(9, 6) % 8, pixels(4, 3) % 8
    calls.file("gif", gif(6, 9, [(0, 0, whole, None, False, False)]))
    calls.file("gif_frames", gif(6, 9, [(0, 0, whole, None, False, True), (1, 2, part, 3, True, False), (4, 7, part, None, False, False)]))
    calls.file("gif_small", gif(6, 9, [(1, 1, part, 2, False, False), (0, 0, whole, 5, False, False)]))
    wav = tf.audio.encode_wav(np.linspace(-1.25, 1.125, 14, dtype=np.float32).reshape(7, 2), 8000).numpy()
    calls.file("wav", wav)
    calls.file("wav_mono", tf.audio.encode_wav(np.sin(np.arange(9, dtype=np.float32))[:, None], 44100).numpy())
    # A format of 18 bytes, and a chunk that nobody knows; behind one of odd length TensorFlow skips no byte.
    calls.file("wav_more", wav[:16] + struct.pack("<I", 18) + wav[20:36] + b"\0\0" + b"LIST" + struct.pack("<I", 4) + b"abcd" + wav[36:])


def images(calls):
    for compression in (0, -1):
        calls.add("EncodePng", [pixels(4, 3, 3)], f"colours{compression}", compression=compression)
        calls.add("EncodePng", [pixels(4, 3, 2, dtype=np.uint16)], f"wide{compression}", compression=compression)
    flat = np.full((8, 8, 3), 77, np.uint8)
    calls.add("EncodeJpeg", [flat], "flat")
    calls.add("EncodeJpeg", [flat[..., :1]], "flat", format="grayscale", quality=50, density_unit="cm", x_density=12)
    calls.add("EncodeJpeg", [flat], "meta", xmp_metadata="<x/>", optimize_size=True, chroma_downsampling=False)
    calls.add("EncodeJpeg", [flat], "progressive", progressive=True)
    calls.add("EncodeJpegVariableQuality", [flat, np.int32(30)], "flat")
    calls.file("flat", tf.io.encode_jpeg(flat, quality=100).numpy())
    calls.add("DecodeJpeg", file="flat")
    calls.add("DecodeJpeg", file="flat", channels=1, ratio=2)
    calls.add("DecodeAndCropJpeg", [np.array([2, 3, 4, 5], np.int32)], file="flat")
    for i in (1, 2, 3, 4):
        for channels in (0, 1, 3, 4):
            calls.add("DecodePng", file=f"png{i}", channels=channels)
            calls.add("DecodePng", file=f"wide{i}", channels=channels)
            calls.add("DecodePng", file=f"wide{i}", channels=channels, dtype=tf.uint16)
        calls.add("DecodePng", file=f"png{i}", dtype=tf.uint16)
    for dtype in (tf.uint8, tf.uint16, tf.float32):
        for name in ("png3", "wide4", "bmp24", "gif_frames", "colours"):
            calls.add("DecodeImage", file=name, dtype=dtype)
    calls.add("DecodeImage", file="gif_frames", expand_animations=False)
    for name in ("gif", "gif_frames", "gif_small", "png3", "png1", "grey"):
        calls.add("DecodeGif", file=name)
    calls.add("DecodePng", file="gif")
    calls.add("DecodeJpeg", file="gif")
    calls.add("DecodeJpeg", file="png4", channels=3)
    calls.add("DecodePng", file="colours")
    for name, channels in (("bmp8", (0, 3, 4)), ("bmp24", (0, 3, 4)), ("bmp32", (0, 3, 4)), ("bmp_down", (0,))):
        for c in channels:
            calls.add("DecodeBmp", file=name, channels=c)
    for name in ("colours", "grey", "progressive", "full_colours", "cmyk"):
        calls.add("DecodeJpeg", file=name)
        calls.add("DecodeJpeg", file=name, dct_method="INTEGER_ACCURATE")
        calls.add("ExtractJpegShape", file=name)
    for name in ("colours", "grey"):
        for channels in (1, 3):
            calls.add("DecodeJpeg", file=name, channels=channels)
        for ratio in (2, 4, 8):
            calls.add("DecodeJpeg", file=name, ratio=ratio)
    calls.add("DecodeJpeg", file="colours", fancy_upscaling=False)
    calls.add("ExtractJpegShape", file="colours", output_type=tf.int64)
    for window in ([0, 0, 3, 4], [3, 5, 4, 6], [9, 2, 1, 1]):
        calls.add("DecodeAndCropJpeg", [np.array(window, np.int32)], file="colours", label=str(window))
        calls.add("DecodeAndCropJpeg", [np.array(window, np.int32)], file="cmyk", label="inks" + str(window))


def sound(calls):
    for name in ("wav", "wav_mono", "wav_more"):
        calls.add("DecodeWav", file=name)
        for channels in (1, 3):
            calls.add("DecodeWav", file=name, desired_channels=channels)
        for samples in (0, 3, 12):
            calls.add("DecodeWav", file=name, desired_samples=samples)
    calls.add("EncodeWav", [np.linspace(-1.25, 1.125, 14, dtype=np.float32).reshape(7, 2), np.int32(8000)], "stereo")
    calls.add("EncodeWav", [np.zeros((0, 1), np.float32), np.int32(1)], "empty")


def summaries(calls):
    rng = np.random.default_rng(4)
    calls.add("ScalarSummary", [b"loss", np.float32(0.1)], "scalar")
    calls.add("ScalarSummary", [b"zero", np.int32(0)], "zero")
    normal = rng.normal(size=(20, 3))
    values = {"normal": normal, "none": np.zeros(0), "edges": np.array([0, 1e-12, -1e-12, 1e-13, 1e25, -1e25, 1.1e-12])}
    for label, value in values.items():
        calls.add("HistogramSummary", [b"h", value], label)
        calls.add("HistogramSummary", [b"h", value.astype(np.float32)], label + "32")
    calls.add("HistogramSummary", [b"h", np.arange(-5, 9, dtype=np.int8)], "int8")
    image = rng.normal(size=(2, 3, 4, 3)).astype(np.float32)
    image[0, 1, 1, 2], image[1, 2, 0, 0] = np.nan, np.inf
    for label, value in {"mixed": image, "positive": np.abs(image[..., :1]), "bytes": pixels(4, 2, 3, 4),
                         "halves": image.astype(np.float16), "doubles": image.astype(np.float64),
                         "black": np.zeros((1, 2, 2, 1), np.float32)}.items():
        calls.add("ImageSummary", [b"i", value], label)
        calls.add("ImageSummary", [b"i", value], label, max_images=1)
    clips = rng.uniform(-1.1, 1.1, size=(4, 5, 2)).astype(np.float32)
    calls.add("AudioSummaryV2", [b"a", clips, np.float32(8000)], "stereo")
    calls.add("AudioSummaryV2", [b"a", clips[..., 0], np.float32(44100.4)], "mono", max_outputs=1)
    metadata = tf.compat.v1.SummaryMetadata(display_name="d")
    metadata.plugin_data.plugin_name = "text"
    metadata = metadata.SerializeToString()
    calls.add("TensorSummaryV2", [b"t", np.float32(0), metadata], "zero")
    calls.add("TensorSummaryV2", [b"t", normal, b""], "matrix")
    calls.add("TensorSummaryV2", [b"t", np.array([b"x", b"yz"]), metadata], "texts")
    one = tf.raw_ops.ScalarSummary(tags="one", values=1.0).numpy()
    two = tf.raw_ops.HistogramSummary(tag="two", values=normal).numpy()
    calls.add("MergeSummary", [[one, two]], "two")


def pictures(calls):
    rng = np.random.default_rng(5)
    boxes = np.array([[[0.1, 0.2, 0.8, 0.9], [-0.5, 0.3, 0.6, 1.7], [0.9, 0.9, 0.1, 0.1], [2, 0, 3, 1]],
                      [[0, 0, 1, 1], [0.25, 0.5, 0.25, 0.5], [-1, -1, 2, 2], [0.3, -2, 0.5, 2]]], np.float32)
    colors = np.array([[0.25, 0.5, 0.75, 1], [0.125, 0, 1, 0.5]], np.float32)
    for channels in (1, 3, 4):
        image = rng.uniform(size=(2, 7, 9, channels)).astype(np.float32)
        calls.add("DrawBoundingBoxes", [image, boxes], f"channels{channels}")
        calls.add("DrawBoundingBoxesV2", [image, boxes, colors], f"channels{channels}")
    calls.add("DrawBoundingBoxesV2", [image, boxes, np.zeros((0, 4), np.float32)], "own")
    calls.add("DrawBoundingBoxes", [image.astype(np.float16), boxes], "half")
    image = rng.uniform(0, 200, size=(2, 5, 6, 2)).astype(np.float32)
    turn = np.array([[0.8, -0.6, 1.5, 0.6, 0.8, -1.25, 0, 0]], np.float32)
    two = np.array([[1.5, 0.25, -4, -0.5, 1.25, 3, 0.01, 0.02], [-1, 0, 20, 0.5, -1, 9, 0, 0]], np.float32)
    for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        for way in ("NEAREST", "BILINEAR"):
            for name, transforms in {"turn": turn, "two": two}.items():
                calls.add("ImageProjectiveTransformV3", [image, transforms, np.array([7, 8], np.int32), np.float32(7)],
                          name, interpolation=way, fill_mode=mode)
    calls.add("ImageProjectiveTransformV3", [image.astype(np.uint8), two, np.array([5, 4], np.int32), np.float32(9.5)],
              "bytes", interpolation="BILINEAR")
    calls.add("ImageProjectiveTransformV2", [image.astype(np.int32), turn, np.array([3, 4], np.int32)], "integers",
              interpolation="NEAREST")
    sizes = {"down": ([3, 4], [0.5, 0.5], [0, 0]), "up": ([9, 11], [1.75, 1.8], [0.5, -0.25]), "out": ([6, 5], [0.75, 1.25], [3, -2])}
    for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
        for name, antialias in (("down", True), ("out", False), ("up", True)):
            size, scale, translation = sizes[name]
            call = [np.array(scale, np.float32), np.array(translation, np.float32)]
            attrs = dict(kernel_type=kernel, antialias=antialias)
            if name != "up":
                calls.add("ScaleAndTranslate", [image, np.array(size, np.int32), *call], name, **attrs)
            elif kernel in ("keyscubic", "gaussian"):
                grads = rng.normal(size=(2, *size, 2)).astype(np.float32)
                calls.add("ScaleAndTranslateGrad", [grads, image, *call], name, **attrs)
    calls.add("ScaleAndTranslate", [image.astype(np.uint8), np.array([3, 4], np.int32), *call], "bytes")
    sound = (np.sin(np.arange(400) * 0.3) + 0.1 * rng.normal(size=400)).astype(np.float32)
    sound = np.stack([sound, rng.normal(size=400).astype(np.float32)], axis=1)
    for label, window, stride in (("power", 64, 32), ("odd", 50, 37), ("long", 500, 1)):
        calls.add("AudioSpectrogram", [sound], label, window_size=window, stride=stride)
    calls.add("AudioSpectrogram", [sound], "squares", window_size=100, stride=60, magnitude_squared=True)
    squares = calls.arrays["AudioSpectrogram;window_size=100;stride=60;magnitude_squared=true#squares/o0"]
    calls.add("Mfcc", [squares, np.int32(16000)], "defaults")
    calls.add("Mfcc", [squares, np.int32(8000)], "few", upper_frequency_limit=3000.0, lower_frequency_limit=100.0,
              filterbank_channel_count=12, dct_coefficient_count=12)


def make(path):
    calls = Calls()
    files(calls)
    images(calls)
    sound(calls)
    summaries(calls)
    pictures(calls)
    save_arrays(path, calls.shared())
    return calls
