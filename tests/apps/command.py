"""What tests of the command share: models and files to run it on, and how it is run."""
import ast
import html.parser
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", ROOT / "build" / "release"))
PANTO = BUILD / "apps" / "panto"
GRAPHS = ROOT / "tests" / "reference" / "graphs"

ATTR = 'attr {{ key: "{}" value {{ {} }} }}'
FLOAT = ATTR.format("T", "type: DT_FLOAT")


def node(name, op, inputs=(), *attrs):
    lines = "".join(f' input: "{i}"' for i in inputs)
    return f'node {{ name: "{name}" op: "{op}"{lines} {" ".join(attrs)} }}\n'


def integer(name, value):
    tensor = f"tensor {{ dtype: DT_INT32 tensor_shape {{ dim {{ size: 1 }} }} int_val: {value} }}"
    return node(name, "Const", (), ATTR.format("dtype", "type: DT_INT32"), ATTR.format("value", tensor))


def placeholder(name, dims):
    shape = " ".join(f"dim {{ size: {d} }}" for d in dims)
    return node(name, "Placeholder", (), ATTR.format("dtype", "type: DT_FLOAT"),
                ATTR.format("shape", f"shape {{ {shape} }}"))


# y = x * x + k, z = -x
MODEL = (placeholder("x", [-1]) + placeholder("k", []) + node("square", "Mul", ["x", "x"], FLOAT) +
         node("y", "AddV2", ["square", "k"], FLOAT) + node("z", "Neg", ["x"], FLOAT))


def npy(values, dims=None, descr="<f4"):
    dims = (len(values),) if dims is None else dims
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(dims)})
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(values)}{ {'<f4': 'f', '<f8': 'd', '<i4': 'i'}[descr] }", *values))


def tfevents(scalars):
    """An event file with these tags and numbers, a step each. (Of its checksums, which are masked CRC-32Cs.)"""
    def crc(data):
        value = 0xFFFFFFFF
        for byte in data:
            value ^= byte
            for _ in range(8):
                value = value >> 1 ^ 0x82F63B78 * (value & 1)
        value ^= 0xFFFFFFFF
        return struct.pack("<I", ((value >> 15 | value << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF)

    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    records = [field(3, b"brain.Event:2")]
    for step, (tag, number) in enumerate(scalars):
        value = field(1, tag.encode()) + b"\x15" + struct.pack("<f", number)
        records.append(bytes([2 << 3, step]) + field(5, field(1, value)))
    length = [struct.pack("<Q", len(record)) for record in records]
    return b"".join(n + crc(n) + record + crc(record) for n, record in zip(length, records))


class Page(html.parser.HTMLParser):
    """What a browser would make of a page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


def read_npy(data):
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    body, descr = data[10 + length:], header["descr"]
    if descr[1] == "S":
        width = int(descr[2:])
        values = [body[i:i + width].rstrip(b"\0") for i in range(0, len(body), width)] if width else []
    else:
        kind = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|b1": "?"}[descr]
        values = list(struct.unpack(f"<{len(body) // struct.calcsize(kind)}{kind}", body))
    return header["shape"], values


def read_npz(path):
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): read_npy(archive.read(name)) for name in archive.namelist()}


class CommandCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.write("m.pbtxt", MODEL)
        self.write("x.npy", npy([1.5, -2, 3]))
        self.write("k.npy", npy([10], ()))

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def panto(self, *arguments, **keywords):
        environment = {k: v for k, v in os.environ.items() if k != "PANTO_LOG"}
        keywords.setdefault("stdout", subprocess.PIPE)
        result = subprocess.run([str(PANTO), *map(str, arguments)], cwd=self.folder, stderr=subprocess.PIPE, text=True,
                                env=environment, timeout=120, **keywords)
        return result.returncode, result.stdout, result.stderr

    def good(self, *arguments):
        status, output, errors = self.panto(*arguments)
        self.assertEqual((status, errors), (0, ""), arguments)
        return output

    def bad(self, beginning, *arguments):
        """Exit 1, one line on standard error, nothing on standard output."""
        status, output, errors = self.panto(*arguments)
        self.assertEqual((status, output), (1, ""), f"{arguments}: {errors}")
        self.assertRegex(errors, r"\Aerror: [A-Za-z]+: [^\n]+\n\Z")
        self.assertTrue(errors.startswith("error: " + beginning), f"{arguments}: {errors}")
        return errors

    def usage(self, *arguments):
        status, output, errors = self.panto(*arguments)
        self.assertEqual((status, output), (2, ""), f"{arguments}: {errors}")
        self.assertIn("panto", errors)
        return errors

    FEEDS = ("--feed", "x=x.npy", "--feed", "k=k.npy")
