"""Calls of ops on strings, for op_cases.py.

Strings that end in NUL are left out, which NumPy's arrays of bytes do not keep. So are letters that Unicode has had for
few years: which of them TensorFlow knows depends on the version of ICU that it was built with. Of UTF-16 with a mark of
the order of bytes there is one string at a time: TensorFlow reads the next one in the order that the last one had."""

import numpy as np
import tensorflow as tf

F4, F8, I4, I8 = np.float32, np.float64, np.int32, np.int64
nan, inf = np.nan, np.inf


def texts(*values):
    return np.array(values, "S")


def text(value):
    return np.array(value, "S")


MIXED = texts(b"", b"abc", "äß€😀".encode(), b"\xff\xfe", b"a\x80b", b"\xe2\x82", b"a\0B")
WORDS = texts(b"a b  c", b"", b"  ", b" x\ty\n")
SQUARE = np.array([[b"abcd", b"efgh"], [b"ijkl", b"mnop"]])


def numbers(cases):
    add = cases.add
    for dtype in (np.float16, F4, F8, tf.bfloat16.as_numpy_dtype):
        name = np.dtype(dtype).name
        x = np.array([0, -0.0, 1, -1.5, 0.1, 1e-5, 2e4, inf, -inf, nan]).astype(dtype)
        for label, attrs in (
            ("plain", {}),
            ("scientific", dict(scientific=True)),
            ("shortest", dict(shortest=True)),
            ("zeros", dict(width=10, fill="0")),
            ("left", dict(width=10, fill="-")),
            ("signs", dict(width=10, fill="+", precision=3)),
            ("blank", dict(fill=" ", precision=0)),
            ("point", dict(fill="#", precision=0)),
        ):
            add("AsString", f"{label} {name}", input=x, **attrs)
    add("AsString", "large", input=np.array([1e20, 3.4e38, 1e300, 2**53 + 1.0]))
    for dtype in (np.int8, np.int16, I4, I8, np.uint8, np.uint16, np.uint32, np.uint64):
        info = np.iinfo(dtype)
        for label, attrs in (("plain", {}), ("zeros", dict(width=7, fill="0")), ("signs", dict(width=7, fill="+"))):
            add("AsString", f"{label} {info.dtype}", input=np.array([info.min, 7, info.max], dtype), **attrs)
    add("AsString", "bool", input=np.array([True, False]), width=10)
    for dtype in (np.complex64, np.complex128):
        add("AsString", np.dtype(dtype).name, input=np.array([1 + 2j, -0.5 - 1e10j], dtype), width=10)
    add("AsString", "strings", input=texts(b"ab", b""), width=4)
    add("AsString", "strings left", input=texts(b"ab", b""), width=4, fill="-")
    for width, precision in ((4, 0), (4, 1), (1, 2), (0, 1), (-1, 1), (2, 5)):
        add("AsString", f"strings cut {width}.{precision}", input=texts(b"abc", b""), width=width, precision=precision)

    floats = texts(b"1", b" 1.5\t", b"+2", b"-.5e-3", b"0x1A", b"-0X1.8p1", b"5.", b"007", b"1e400", b"-1e400", b"inf",
                   b"-Infinity", b"NAN", b"nan(1)", b"1e-400", b"9007199254740993", b"3.4028235677973366e38", b"3.4028236e38")
    for dtype in (tf.float32, tf.float64):
        add("StringToNumber", dtype.name, string_tensor=floats, out_type=dtype)
    for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
        least = [] if dtype.is_unsigned else [str(dtype.min).encode()]
        add("StringToNumber", dtype.name, string_tensor=texts(b"1", b" 12\n", b"+3", b"007", str(dtype.max).encode(), *least), out_type=dtype)

    x = np.arange(24, dtype=F4).reshape(4, 6) / 3
    cube = np.arange(27, dtype=I4).reshape(3, 3, 3)
    for label, inputs, attrs in (
        ("matrix", [x], {}),
        ("two", [x, I4(3)], dict(template="a %s b %s c")),
        ("none", [], dict(template="abc")),
        ("placeholder", [I4(1), I4(2)], dict(template="{}{}", placeholder="{}")),
        ("strings", [texts(b'a\'"\\\n\t\x01\x7f', "ä".encode(), b"\xff")], {}),
        ("numbers", [np.array([1.5, nan, -inf, 1e-5, 1e10, 123456.7, 0.1, 1 / 3, 1e15, 1e16, 1e21])], dict(summarize=-1)),
        ("empty", [np.zeros((2, 0), F4)], {}),
        ("more empty", [np.zeros((3, 0, 2), F4)], {}),
        ("one", [cube], dict(summarize=1)),
        ("nothing", [np.arange(8)], dict(summarize=0)),
        ("types", [np.array([True]), np.array([1j], np.complex64), np.array([0.1], np.float16), np.uint64(2**64 - 1)],
         dict(template="%s %s %s %s")),
    ):
        add("StringFormat", label, inputs=inputs, **attrs)


def characters(cases):
    add = cases.add
    for unit in ("BYTE", "UTF8_CHAR"):
        add("StringLength", unit, input=MIXED, unit=unit)
        hello, wide = texts(b"hello"), texts("hä€o😀".encode())
        for pos, length in ((0, 2), (1, 1), (-1, 1), (-3, 2), (5, 1), (-5, 9), (2, 0), (2, -1), (0, 100)):
            add("Substr", f"{pos} {length} {unit}", input=hello, pos=np.array([pos], I4), len=np.array([length], I4), unit=unit)
            add("Substr", f"wide {pos} {length} {unit}", input=wide, pos=I8(pos), len=I8(length), unit=unit)
        for pos in (0, 1, -1, -2):
            add("Substr", f"broken {pos} {unit}", input=text(b"\x80\x80a"), pos=I4(pos), len=I4(1), unit=unit)
    add("Substr", "row", input=SQUARE, pos=np.array([0, 1], I4), len=np.array([1, 2], I4))
    add("Substr", "column", input=SQUARE, pos=np.array([[0], [1]]), len=np.array([[1], [2]]))
    add("Substr", "of one", input=text(b"abcd"), pos=np.array([0, 1], I4), len=np.array([1, 2], I4))
    letters = texts("aBÄß€ǆİıΣΑΣ ﬁ".encode(), b"a\xffb\xe2\x82zQ\xc3", b"\xed\xa0\x80A", b"\xf0\x9f\x98A", b"\xf5\x80\x80\x80A",
                    b"\xc0\x80A", b"\xe0\x80A", b"\xef\xbb\xbfA", "ΌΔΟΣ ЖЯ ŉ".encode())
    for op in ("StringLower", "StringUpper"):
        add(op, "bytes", input=letters)
        add(op, "utf-8", input=letters, encoding="utf-8")
    add("StringStrip", "spaces", input=texts(b" \t\n\v\f\r a b ", b"\xc2\xa0a", b"", b"   ", b"\x1ca\x1c"))
    for separator in (b"", b" ", b"  ", b"b"):
        for most in (-1, 0, 1, 2):
            add("StringSplitV2", f"'{separator.decode()}' {most}", input=WORDS, sep=text(separator), maxsplit=most)
    add("StringSplitV2", "none", input=np.zeros(0, "S1"), sep=text(b" "))
    for delimiter in (b"", b" ", b" ,b"):
        for skip in (True, False):
            add("StringSplit", f"'{delimiter.decode()}' {skip}", input=WORDS, delimiter=text(delimiter), skip_empty=skip)


def joined(cases):
    add = cases.add
    cube = np.array([b"a", b"b", b"", b"d", b"e", b"f", b"g", b"h", b"i", b"j", b"k", b"l"]).reshape(2, 3, 2)
    for axes in ([], [0], [-1], [2, 0], [0, 2], [1, 2, 0]):
        for keep in (True, False):
            add("ReduceJoin", f"{axes} {keep}", inputs=cube, reduction_indices=np.array(axes, I4), keep_dims=keep, separator=".")
    add("ReduceJoin", "scalar", inputs=cube, reduction_indices=I4(1))
    add("ReduceJoin", "empty", inputs=np.zeros((0, 2), "S1"), reduction_indices=I4(0))
    add("UnsortedSegmentJoin", "vector", inputs=texts(b"", b"a", b"", b"b", b""), segment_ids=np.array([0, 0, 0, 0, 2]),
        num_segments=I4(4), separator=",")
    add("UnsortedSegmentJoin", "rows", inputs=SQUARE, segment_ids=np.array([1, 1], I4), num_segments=I8(2), separator=",")
    add("UnsortedSegmentJoin", "all", inputs=SQUARE, segment_ids=np.array([[1, 0], [0, 1]]), num_segments=I4(2))


def hashes(cases):
    add = cases.add
    # Every length has its own way through FarmHash.
    long = texts(*(bytes((7 * i + k) % 251 + 1 for k in range(i)) for i in (*range(0, 20), 31, 32, 33, 63, 64, 65, 100, 200, 500)))
    many = 2**62
    add("StringToHashBucketFast", "lengths", input=long, num_buckets=many)
    add("StringToHashBucketFast", "few", input=long, num_buckets=10)
    add("StringToHashBucketStrong", "lengths", input=long, num_buckets=many, key=[123456789012345, -2])
    add("StringToHashBucket", "lengths", string_tensor=long, num_buckets=many)
    method = text(b"farmhash64")
    add("Fingerprint", "strings", data=long, method=method)
    plain = texts(*(bytes((7 * i + k) % 251 + 1 for k in range(i)) for i in range(12)), b"\xff\xef\xff")
    for pad in (True, False):
        (encoded,), _ = add("EncodeBase64", f"{pad}", input=plain, pad=pad)
        add("DecodeBase64", f"{pad}", input=encoded.astype("S"))
    add("DecodeBase64", "bits too many", input=texts(b"YR", b"YWL="))
    add("Fingerprint", "rows of strings", data=SQUARE, method=method)
    for dtype in (np.int8, I4, F8, np.complex128, np.float16, np.bool_):
        add("Fingerprint", np.dtype(dtype).name, data=np.array([[1, 0, 1], [0, 0, 1]], dtype), method=method)


def expressions(cases):
    add = cases.add
    x = texts(b"ab", b"", b"a\nb", b"\xff", "ä".encode(), b"aab", b"cac")
    for pattern in ("a.*", "", "(a)(b)", "\\C", "(?i)AB", "\\pL+", ".", "(?s)a.?b", "b|a", "ä"):
        add("StaticRegexFullMatch", pattern, input=x, pattern=pattern)
        add("RegexFullMatch", pattern, input=x, pattern=text(pattern.encode()))
    for pattern, rewrite in (("a", "b"), ("a*", "-"), ("(a)(b)?", "\\2\\1"), ("a", "\\1"), ("a", "\\\\"), ("", "x"), ("^", "x"),
                             ("(a)", "\\0\\0"), ("a\\b", ""), ("ä|c", "[\\0]")):
        for every in (True, False):
            label = f"{pattern} {rewrite} {every}"
            add("StaticRegexReplace", label, input=x, pattern=pattern, rewrite=rewrite, replace_global=every)
            add("RegexReplace", label, input=x, pattern=text(pattern.encode()), rewrite=text(rewrite.encode()), replace_global=every)


def distances(cases):
    def add(label, hypothesis, truth, **attrs):
        parts = {}
        for name, (indices, values, shape) in (("hypothesis", hypothesis), ("truth", truth)):
            parts[f"{name}_indices"] = np.array(indices, I8).reshape(len(values), len(shape))
            parts[f"{name}_values"], parts[f"{name}_shape"] = values, np.array(shape)
        cases.add("EditDistance", label, **parts, **attrs)

    ints = lambda *values: np.array(values, I4)
    for normalize in (True, False):
        add(f"three {normalize}", ([[0, 0], [0, 1], [1, 0]], ints(1, 2, 3), [2, 2]),
            ([[0, 0], [2, 0], [2, 1]], ints(1, 5, 6), [3, 2]), normalize=normalize)
    add("longer", ([[0, i] for i in range(7)], ints(1, 2, 3, 4, 5, 6, 7), [1, 7]),
        ([[0, i] for i in range(6)], ints(2, 3, 9, 5, 5, 7), [1, 6]))
    add("strings", ([[0, 0], [0, 1], [0, 2]], texts(b"a", b"b", b"c"), [1, 3]), ([[0, 0], [0, 1]], texts(b"a", b"c"), [1, 2]))
    add("cube", ([[0, 0, 0]], ints(1), [1, 1, 1]), ([[1, 1, 0]], ints(1), [2, 2, 2]))
    add("none", ([], ints(), [2, 2]), ([], ints(), [2, 2]))


def string_family(cases):
    numbers(cases)
    characters(cases)
    joined(cases)
    hashes(cases)
    expressions(cases)
    distances(cases)


UNICODE = np.array(
    [
        b"",
        b"a\xe2\x82\xacb",
        b"\xf0\x9f\x98\x81",
        b"\x01\x1f\x20\x7f",
        b"\xff\xfe",
        b"\xe2\x82",
        b"x\xed\xa0\x80\xc0\xaf",
    ]
)
BIG_ENDIAN = np.array([b"\x00b\x00c", b"\xfe\xff\x20\xac", b"\xd8\x3d\xde", b"\xd8\x3d\x00d", b"\xdc\x01x"])
LITTLE_ENDIAN = np.array([b"\x3d\xd8\x01\xde", b"\xac\x20\xff", b"\x01\xdc\x78\x01", b"\x3d\xd8\x41\x01"])
POLICIES = ("replace", "ignore")


def unicode(cases):
    characters = np.array([0x61, 0x20AC, 0x1F601, -1, 0x110000, 0xD800, 0xDC00, 0xFFFE, 0x10FFFF], np.int32)
    for errors in POLICIES:
        for controls in (False, True):
            label = f"{errors}{' controls' if controls else ''}"
            given = dict(errors=errors, replace_control_characters=controls, replacement_char=0x2603)
            for encoding, text in (
                ("UTF-8", UNICODE),
                ("UTF-16", np.array([b"\xfe\xff\x20\xac\x00e"])),
                ("UTF-16-BE", BIG_ENDIAN),
                ("UTF-16-LE", LITTLE_ENDIAN),
                ("UTF-32-BE", np.array([b"\0\0\0a", b"\0\x01\xf6", b"\0\x11\0\1"])),
                ("ISO-8859-1", UNICODE),
                ("windows-1252", UNICODE),
                ("US-ASCII", UNICODE),
                ("SHIFT-JIS", UNICODE),
                ("GB18030", UNICODE),
                ("EUC-JP", UNICODE),
            ):
                name = f"{encoding} {label}"
                outputs = ("UTF-8", "UTF-16-BE", "UTF-32-BE") if encoding == "UTF-8" else ("UTF-8",)
                for output in outputs:
                    cases.add(
                        "UnicodeTranscode",
                        f"{name} {output}",
                        input=text,
                        input_encoding=encoding,
                        output_encoding=output,
                        **given,
                    )
                cases.add("UnicodeDecode", name, input=text, input_encoding=encoding, Tsplits=np.int32, **given)
                cases.add("UnicodeDecodeWithOffsets", name, input=text, input_encoding=encoding, **given)
        for output in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
            cases.add(
                "UnicodeEncode",
                f"{errors} {output}",
                input_values=characters,
                input_splits=np.array([0, 0, 2, 4, 9], np.int64),
                output_encoding=output,
                errors=errors,
                replacement_char=0x1F4A9,
            )
    letters = np.array(
        [0, 0x41, 0xE9, 0x3B1, 0x416, 0x5D0, 0x627, 0x905, 0xE01, 0x3042, 0x4E00, 0xAC00, 0x1F600, -5, 0x110000]
    )
    cases.add("UnicodeScript", "letters", input=letters.astype(np.int32))


def ngrams(cases):
    data = np.array([b"a", b"bb", b"", b"c", b"dd", b"e"])
    splits = np.array([0, 3, 3, 4, 6])
    kinds = (
        ([2], 0, False),
        ([1, 3], -1, False),
        ([3, 2], 1, False),
        ([3], 9, False),
        ([3], 0, True),
        ([9], 1, True),
        ([], 2, True),
    )
    for number, (widths, pad, keep) in enumerate(kinds):
        for dtype in (np.int32, np.int64):
            cases.add(
                "StringNGrams",
                f"{np.dtype(dtype).name} {number}",
                data=data,
                data_splits=splits.astype(dtype),
                separator="|",
                ngram_widths=widths,
                left_pad="<<",
                right_pad=">",
                pad_width=pad,
                preserve_short_sequences=keep,
            )
    cases.add(
        "StringNGrams",
        "no tokens",
        data=np.zeros([0], "S1"),
        data_splits=np.array([0, 0, 0]),
        separator="|",
        ngram_widths=[2],
        left_pad="<",
        right_pad=">",
        pad_width=-1,
        preserve_short_sequences=True,
    )
