"""Calls of ops that parse records (parsing.json, parsing.npz): features of Examples and SequenceExamples, fields of
lines, numbers of bytes.

Left out is what TensorFlow gives no defined answer for: a key that is asked for twice (no values), splits of a single
SequenceExample (memory that nobody wrote), and dense features of no elements (it divides by zero). No string ends in
NUL, which NumPy's arrays of bytes do not keep."""

import zlib

import numpy as np
import tensorflow as tf
from cases import Cases

F4, F8, I4, I8 = np.float32, np.float64, np.int32, np.int64
train = tf.train


def texts(*values):
    assert not any(value.endswith(b"\0") for value in values)
    return np.array(values, "S") if values else np.zeros([0], "S1")


def text(value):
    assert not value.endswith(b"\0")
    return np.array(value, "S")


def floats(*values):
    return train.Feature(float_list=train.FloatList(value=values))


def integers(*values):
    return train.Feature(int64_list=train.Int64List(value=values))


def strings(*values):
    return train.Feature(bytes_list=train.BytesList(value=values))


def features(named):
    return train.Features(feature=named)


UNKNOWN = b"\x50\x03"  # a field that nobody knows, so that no record ends in NUL


def example(**named):
    return train.Example(features=features(named)).SerializeToString(deterministic=True) + UNKNOWN


def sequence(context, **lists):
    lists = {key: train.FeatureList(feature=steps) for key, steps in lists.items()}
    message = train.SequenceExample(
        context=features(context), feature_lists=train.FeatureLists(feature_list=lists)
    )
    return message.SerializeToString(deterministic=True) + UNKNOWN


def field(number, content):
    """A field of bytes, by hand."""
    return bytes([number << 3 | 2, len(content)]) + content


def entry(key, feature):
    return field(1, field(1, key) + field(2, feature))


FULL = example(f=floats(1.5, -2), i=integers(3, -4, 2**62), s=strings(b"a", b"", b"xyz"), unasked=integers(1))
OTHER = example(f=floats(7, 8), i=integers(), s=strings(b"q"))
EMPTY = example(f=train.Feature())
# Numbers that are not packed, a key twice (the last counts).
UNPACKED = field(
    1,
    entry(b"i", field(3, b"\x08\x05"))
    + entry(b"i", field(3, b"\x08\x07\x08\x96\x01"))
    + entry(b"f", field(2, b"\x0d" + np.float32(0.5).tobytes() + b"\x0d" + np.float32(2).tobytes())),
) + UNKNOWN


def batches(cases):
    def add(label, records, sparse=(), dense=(), ragged=(), names=texts()):
        cases.add(
            "ParseExampleV2",
            label,
            serialized=records,
            names=names,
            sparse_keys=texts(*(key for key, _ in sparse)),
            dense_keys=texts(*(key for key, _, _ in dense)),
            ragged_keys=texts(*(key for key, _, _ in ragged)),
            dense_defaults=[default for _, default, _ in dense],
            num_sparse=len(sparse),
            sparse_types=[kind for _, kind in sparse],
            ragged_value_types=[kind for _, kind, _ in ragged],
            ragged_split_types=[kind for _, _, kind in ragged],
            dense_shapes=[shape for _, _, shape in dense],
        )

    three = texts(FULL, OTHER, EMPTY)
    sparse = [(b"i", tf.int64), (b"s", tf.string), (b"f", tf.float32), (b"none", tf.int64)]
    dense = [(b"f", np.array([9, 10], F4), [2]), (b"none", np.array([[5], [6]], I8), [2, 1])]
    open_ended = [(b"f", np.array(-1, F4), [None]), (b"s", np.array([b"-"]), [None, 1]), (b"i", np.array([[0]], I8), [None])]
    ragged = [(b"i", tf.int64, tf.int32), (b"s", tf.string, tf.int64), (b"none", tf.float32, tf.int32)]
    add("sparse", three, sparse=sparse)
    add("dense", three, dense=dense)
    add("open", three, dense=open_ended)
    add("stride", texts(FULL, EMPTY), dense=[(b"f", np.array(0.5, F4), [None, 2])])
    add("ragged", three, ragged=ragged)
    mixed = dict(sparse=sparse[:1] + [(b"more", tf.string)], dense=dense, ragged=ragged[1:2])
    add("all", three, **mixed, names=texts(b"x", b"y", b"z"))
    add("none", texts(), **mixed)
    add("unpacked", texts(UNPACKED), sparse=[(b"f", tf.float32)], ragged=[(b"i", tf.int64, tf.int32)])
    for label, record in (("full", FULL), ("empty", EMPTY)):
        add(f"one-{label}", text(record), sparse=sparse[:2], dense=dense)
        add(f"one-{label}-open", text(record), dense=open_ended, ragged=[(b"more", tf.int64, tf.int32)])

    for label, records in (("three", three), ("none", texts())):
        cases.add(
            "ParseExample",
            label,
            serialized=records,
            names=texts(),
            sparse_keys=[text(b"i"), text(b"s")],
            dense_keys=[text(b"f"), text(b"t")],
            dense_defaults=[np.array([9, 10], F4), np.array(b"?")],
            sparse_types=[tf.int64, tf.string],
            dense_shapes=[[2], [None]],
        )
    for label, record in (("full", FULL), ("empty", EMPTY)):
        cases.add(
            "ParseSingleExample",
            label,
            serialized=text(record),
            dense_defaults=[np.array([9, 10], F4), np.array(b"?")],
            num_sparse=2,
            sparse_keys=[b"i", b"s"],
            dense_keys=[b"f", b"t"],
            sparse_types=[tf.int64, tf.string],
            dense_shapes=[[2], [None]],
        )


A = sequence(
    {"c": floats(1, 2), "d": strings(b"q"), "e": integers(4, 5)},
    x=[floats(1, 2), floats(3, 4)],
    y=[integers(1), integers(), integers(2, 3)],
    z=[strings(b"a", b"b")],
    w=[integers(4), integers(), integers(5, 6)],
)
B = sequence({}, x=[floats(5, 6)], y=[train.Feature(), integers(9)])
C = sequence({}, y=[])


def sequences(cases):
    two, three = texts(A, B), texts(A, B, C)

    def add(label, records, context_ragged=(), ragged=()):
        cases.add(
            "ParseSequenceExampleV2",
            label,
            serialized=records,
            debug_name=texts(),
            context_sparse_keys=texts(b"d"),
            context_dense_keys=texts(b"c", b"n"),
            context_ragged_keys=texts(*(key for key, _, _ in context_ragged)),
            feature_list_sparse_keys=texts(b"w", b"z"),
            feature_list_dense_keys=texts(b"x"),
            feature_list_ragged_keys=texts(*(key for key, _, _ in ragged)),
            feature_list_dense_missing_assumed_empty=np.array([True]),
            context_dense_defaults=[np.array([7, 8], F4), np.array([5], I8)],
            Ncontext_sparse=1,
            context_sparse_types=[tf.string],
            context_ragged_value_types=[kind for _, kind, _ in context_ragged],
            context_ragged_split_types=[kind for _, _, kind in context_ragged],
            context_dense_shapes=[[2], [1]],
            Nfeature_list_sparse=2,
            Nfeature_list_dense=1,
            feature_list_dense_types=[tf.float32],
            feature_list_sparse_types=[tf.int64, tf.string],
            feature_list_ragged_value_types=[kind for _, kind, _ in ragged],
            feature_list_ragged_split_types=[kind for _, _, kind in ragged],
            feature_list_dense_shapes=[[2]],
        )

    ragged = [(b"y", tf.int64, tf.int32), (b"v", tf.string, tf.int64)]
    add("three", three, context_ragged=[(b"e", tf.int64, tf.int64)], ragged=ragged)
    add("none", texts(), context_ragged=[(b"e", tf.int64, tf.int64)], ragged=ragged)
    add("one", text(A))
    add("one-missing", text(C))
    cases.add(
        "ParseSequenceExample",
        "two",
        serialized=two,
        debug_name=texts(b"a", b"b"),
        context_dense_defaults=[np.array([7, 8], F4)],
        feature_list_dense_missing_assumed_empty=[b"v"],
        context_sparse_keys=[b"d"],
        context_dense_keys=[b"c"],
        feature_list_sparse_keys=[b"y"],
        feature_list_dense_keys=[b"x", b"v"],
        Ncontext_sparse=1,
        Ncontext_dense=1,
        Nfeature_list_sparse=1,
        Nfeature_list_dense=2,
        context_sparse_types=[tf.string],
        feature_list_dense_types=[tf.float32, tf.int64],
        context_dense_shapes=[[2]],
        feature_list_sparse_types=[tf.int64],
        feature_list_dense_shapes=[[2], []],
    )
    for label, record in (("full", A), ("missing", C)):
        cases.add(
            "ParseSingleSequenceExample",
            label,
            serialized=text(record),
            feature_list_dense_missing_assumed_empty=texts(b"x"),
            context_sparse_keys=[text(b"c")],
            context_dense_keys=[text(b"d"), text(b"n")],
            feature_list_sparse_keys=[text(b"y")],
            feature_list_dense_keys=[text(b"x")],
            context_dense_defaults=[np.array([b"-"]), np.array([5, 6], I8)],
            debug_name=text(b""),
            context_sparse_types=[tf.float32],
            feature_list_dense_types=[tf.float32],
            feature_list_sparse_types=[tf.int64],
            context_dense_shapes=[[1], [2]],
            feature_list_dense_shapes=[[2]],
        )


def lines(cases):
    def add(label, records, *defaults, **attrs):
        cases.add("DecodeCSV", label, records=records, record_defaults=list(defaults), **attrs)

    one, none, word = np.array([1], I4), np.zeros([0], I4), np.array([b"z"])
    add("types", texts(b"1,a,2.5,-3,1e3", b"3,,,,"), one, word, np.array(9, F4), np.array([5], I8), np.array([0.5], F8))
    add("quotes", texts(b'1,"a,""b""\n",2', b'"7",x,"8"'), none, word, one)
    add("no-quotes", texts(b'1,a"b'), none, word, use_quote_delim=False)
    add("columns", texts(b"1,2,3,4", b"5,6,,"), one, one, select_cols=[0, 2])
    add("delimiter", texts(b"1;NA", b"NA;2"), one, np.array([7], I4), field_delim=";", na_value="NA")
    add("blanks", texts(b" 12 , x ", b"\n1,\r\n2"), one, word)
    add("last", texts(b"1,", b","), one, np.array([8], I4))
    add("matrix", np.array([[b"1", b"2"], [b"3", b"4"]]), one)
    add("special", texts(b"nan,-inf", b"0x10,1e-50"), np.array([1], F4), np.array([1], F8))


def numbers(cases):
    raw = np.array([[b"abcdefgh", b"01234567"]])
    for dtype in (tf.bool, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.int64, tf.half, tf.bfloat16, tf.float32, tf.float64, tf.complex64):
        for little in (True, False):
            label = f"{dtype.name}{'' if little else '-big'}"
            data = np.array([b"\1\2"]) if dtype == tf.bool else raw
            if dtype != tf.bool or little:
                cases.add("DecodeRaw", label, bytes=data, out_type=dtype, little_endian=little)
    cases.add("DecodeRaw", "complex128", bytes=texts(b"abcdefgh01234567"), out_type=tf.complex128, little_endian=False)
    cases.add("DecodeRaw", "none", bytes=texts(), out_type=tf.int16)
    for dtype in (tf.int8, tf.uint16, tf.int32, tf.int64, tf.float32, tf.float64):
        for little in (True, False):
            label = f"{dtype.name}{'' if little else '-big'}"
            data = texts(b"abcdefgh", b"012", b"", b"abcdefghijk")
            cases.add("DecodePaddedRaw", label, input_bytes=data, fixed_length=np.array(8, I4), out_type=dtype, little_endian=little)
    long = b"panto" * 1000
    cases.add("DecodeCompressed", "zlib", bytes=texts(zlib.compress(long), b"", zlib.compress(b"xyz")), compression_type="ZLIB")
    cases.add("DecodeCompressed", "plain", bytes=texts(b"abc"))
    # Of numbers TensorFlow writes the form that is not packed.
    json = [b"{}", b'{"features":{"feature":{"s":{"bytesList":{"value":["aGk=", "eA=="]}}}}}']
    cases.add("DecodeJSONExample", "kinds", json_examples=np.array(json))
    cases.add("ShardedFilename", "name", basename=text(b"a/b"), shard=np.array(1, I4), num_shards=np.array(12, I4))
    cases.add("ShardedFilespec", "name", basename=text(b"a/b"), num_shards=np.array(12, I4))
    for dtype in (tf.float32, tf.int8, tf.bool, tf.string):
        value = np.array([[1, 0, 3]]).astype("S" if dtype == tf.string else dtype.as_numpy_dtype)
        with tf.device("/CPU:0"):
            cases.add("ParseTensor", dtype.name, serialized=text(tf.io.serialize_tensor(tf.constant(value)).numpy()), out_type=dtype)


def make():
    cases = Cases()
    batches(cases)
    sequences(cases)
    lines(cases)
    numbers(cases)
    return cases
