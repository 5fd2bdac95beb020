"""`panto inspect`: what it says of files of each kind, and the one line that it says of damaged ones."""
import gzip
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", ROOT / "build" / "release"))
PANTO = BUILD / "apps" / "panto"

# A checkpoint of a variable `a` of 0.5, as TensorFlow writes it.
INDEX = bytes.fromhex("00000608011a02080100010b61080112002804350638271f0000000001000000004505e1ca000000000100000000"
                      "c0f2a1b000010262002000000000010000000030d3691c2508320e") + bytes(36) + bytes.fromhex(
                          "57fb808b247547db")
DATA = bytes.fromhex("0000003f")
# Records: "abc" and one of nothing.
RECORDS = bytes.fromhex("0300000000000000b099490e6162636e57f121000000000000000029039807d8ea82a2")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", crc32c(length)) + data + struct.pack("<I", crc32c(data))


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def scalar_event(step, tag, value):
    """As PyTorch and TensorFlow 1 write it."""
    summary = field(1, field(1, tag) + b"\x15" + struct.pack("<f", value))
    return b"\x09" + struct.pack("<d", 1.0) + bytes([2 << 3, step]) + field(5, summary)


EVENTS = (record(field(3, b"brain.Event:2")) + record(scalar_event(1, b"loss", 0.5)) +
          record(scalar_event(2, b"loss", 0.25)) + record(scalar_event(2, b"rate", 1.0)))


class InspectTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def panto(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if k != "PANTO_LOG"}
        result = subprocess.run([str(PANTO), "inspect", *map(str, arguments)], cwd=self.folder, capture_output=True,
                                text=True, env=environment, timeout=120)
        return result.returncode, result.stdout, result.stderr

    def good(self, *arguments):
        status, output, errors = self.panto(*arguments)
        self.assertEqual((status, errors), (0, ""), arguments)
        return output

    def bad(self, *arguments):
        """Exit 1, one line on standard error, nothing on standard output."""
        status, output, errors = self.panto(*arguments)
        self.assertEqual((status, output), (1, ""), f"{arguments}: {errors}")
        self.assertRegex(errors, r"\Aerror: [A-Za-z]+: [^\n]+\n\Z")
        return errors

    def write_checkpoint(self):
        self.write("run/m.ckpt-3.index", INDEX)
        self.write("run/m.ckpt-3.data-00000-of-00001", DATA)
        self.write("run/checkpoint", b'model_checkpoint_path: "m.ckpt-3"\n')

    def test_checkpoints(self):
        self.write_checkpoint()
        self.assertEqual(self.good("run/m.ckpt-3"), "a  float32[]\n")
        self.assertEqual(self.good("run/m.ckpt-3.index", "--values"), "a  float32[]\n0.5\n")
        self.assertEqual(self.good("run", "--name", "a"), "# run/m.ckpt-3\na  float32[]\n")
        self.assertIn("expected a name in the file, got 'b'", self.panto("run", "--name", "b")[2])
        # Names and shapes stand in the index.
        self.write("run/m.ckpt-3.data-00000-of-00001", b"")
        self.assertEqual(self.good("run/m.ckpt-3"), "a  float32[]\n")
        self.assertIn("m.ckpt-3.data-00000-of-00001", self.bad("run/m.ckpt-3", "--values"))

    def test_saved_models(self):
        (self.folder / "model").mkdir()
        self.write("model/variables/variables.index", INDEX)
        self.write("model/variables/variables.data-00000-of-00001", DATA)
        self.assertEqual(self.good("model", "--values"), "a  float32[]\n0.5\n")
        # Signatures, each of a name, dtype 1 (float32) and a shape; the second one's is unknown.
        shape = field(3, field(2, b"\x08" + b"\xff" * 9 + b"\x01") + field(2, b"\x08\x03"))
        x = field(1, b"x:0") + b"\x10\x01" + shape
        y = field(1, b"y:0") + b"\x10\x01" + field(3, b"\x18\x01")
        sparse = field(4, field(1, b"v:0") + field(2, b"i:0") + field(3, b"s:0")) + b"\x10\x09" + field(3, b"")
        pair = lambda key, value: field(1, key) + field(2, value)
        signature = (field(1, pair(b"x", x)) + field(1, pair(b"s", sparse)) + field(2, pair(b"y", y)) +
                     field(3, b"a/method"))
        meta = field(1, field(4, b"serve") + field(4, b"gpu")) + field(5, pair(b"first", signature))
        model = b"\x08\x01" + b"\x12" + bytes([len(meta) & 0x7f | 0x80, len(meta) >> 7]) + meta
        self.write("model/saved_model.pb", model)
        self.assertEqual(self.good("model"), """# tags: serve, gpu
# signature first: a/method
input s   sparse int64[]  i:0, v:0, s:0
input x   float32[?,3]  x:0
output y  float32?  y:0
# variables
a  float32[]
""")
        for size in range(len(model)):
            self.write("model/saved_model.pb", model[:size])
            self.assertIn("DataLoss: SavedModel 'model/saved_model.pb': ", self.bad("model"))

    def test_tensors(self):
        header = b'{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        self.write("w.safetensors", struct.pack("<Q", len(header)) + header + DATA)
        self.assertEqual(self.good("w.safetensors"), "# format: pt\nw  float32[1]\n")
        self.assertEqual(self.good("w.safetensors", "--values"), "# format: pt\nw  float32[1]\n[0.5]\n")
        text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
        text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
        self.write("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + DATA)
        self.assertEqual(self.good("x.npy", "--values"), "  float32[1]\n[0.5]\n")

    def test_records(self):
        self.write("r.tfrecord", RECORDS)
        self.assertEqual(self.good("r.tfrecord"), "2 records, 3 bytes\n")
        self.assertEqual(self.good("r.tfrecord", "--values"),
                         "0  at byte 0, 3 bytes: abc\n1  at byte 19, 0 bytes: \n2 records, 3 bytes\n")

    def test_compressed_records(self):
        for name, content in [("r.gz", gzip.compress(RECORDS)), ("r.z", zlib.compress(RECORDS)),
                              ("r9", zlib.compress(RECORDS, 9))]:
            with self.subTest(name):
                self.write(name, content)
                self.assertEqual(self.good(name), "2 records, 3 bytes\n")
                self.write(name, content[:-5])
                self.assertIn(name, self.panto(name)[2])

    def test_events(self):
        self.write("logs/events.out.tfevents.1.host", EVENTS)
        expected = "loss  scalars  2 values, steps 1 to 2\nrate  scalars  1 values, steps 2 to 2\n"
        self.assertEqual(self.good("logs/events.out.tfevents.1.host"), expected)
        self.assertEqual(self.good("logs"), expected)
        self.assertEqual(self.good("logs", "--values", "--name", "loss"),
                         "step 1  loss  scalars  0.5\nstep 2  loss  scalars  0.25\n")

    def test_damaged_files(self):
        self.write_checkpoint()
        self.write("logs/events.out.tfevents.1.host", EVENTS)
        self.write("r.tfrecord", RECORDS)
        for name in ("run/m.ckpt-3.index", "logs/events.out.tfevents.1.host", "r.tfrecord"):
            whole = (self.folder / name).read_bytes()
            for content in (whole[:-1], whole[:len(whole) // 2], whole[:30] + b"\xff" + whole[31:]):
                with self.subTest(name=name, content=content):
                    self.write(name, content)
                    self.assertIn(pathlib.Path(name).name, self.bad(name))
        for content in (b"", b"x", bytes(100), b"PK\3\4", b"\x93NUMPY", b"\x1f\x8b", b"node { }\n"):
            with self.subTest(content=content):
                self.write("other", content)
                self.assertIn("other", self.bad("other"))
        self.assertIn("NotFound", self.bad("none"))
        (self.folder / "empty").mkdir()
        self.assertIn("NotFound", self.bad("empty"))

    def test_usage(self):
        for arguments in ((), ("a", "b"), ("a", "--name")):
            self.assertEqual(self.panto(*arguments)[0], 2)


if __name__ == "__main__":
    unittest.main()
