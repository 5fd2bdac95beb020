"""The command's contract: options, exit status, what goes to standard output and what to standard error."""
import ast
import html.parser
import json
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import textwrap
import threading
import unittest
import unittest.mock
import xml.etree.ElementTree
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


class CommandTest(unittest.TestCase):
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

    # ---- usage ----

    def test_wrong_usage_is_2(self):
        self.usage()
        self.usage("walk")
        self.usage("run")
        self.usage("run", "m.pbtxt", "--nonsense")
        self.usage("run", "m.pbtxt", "n.pbtxt")
        self.usage("run", "m.pbtxt", "--fetch")
        self.usage("show")
        self.usage("show", "m.pbtxt", "--nodes", "--dot")
        self.usage("devices", "all")
        self.usage("ops", "A", "B")

    def test_help_everywhere(self):
        for command in ([], ["run"], ["show"], ["diff"], ["optimize"], ["ops"], ["devices"], ["demo"], ["train"]):
            text = self.good(*command, "--help")
            self.assertIn("--help", text)
        for option in ("--feed", "--feeds", "--fetch", "--target", "--signature", "--out", "--optimize", "--library"):
            self.assertIn(option, self.good("run", "--help"))
        for command in ("run", "show", "diff", "optimize", "ops", "devices", "demo", "train"):
            self.assertIn(command, self.good("--help"))

    def test_version(self):
        self.assertEqual(self.good("--version"), "panto 0.1.0\n")

    # ---- run: what is fetched, and where it goes ----

    def test_prints_all_outputs_that_nobody_reads(self):
        self.assertEqual(self.good("run", "m.pbtxt", *self.FEEDS),
                         "y:0:\n[12.25 14.   19.  ]\nz:0:\n[-1.5  2.  -3. ]\n")

    def test_fetches(self):
        self.assertEqual(self.good("run", "m.pbtxt", "--feed", "x=x.npy", "--fetch", "z", "--fetch", "square:0"),
                         "z:\n[-1.5  2.  -3. ]\nsquare:0:\n[2.25 4.   9.  ]\n")

    def test_results_are_keyed_as_typed(self):
        out = self.folder / "r.npz"
        self.assertEqual(
            self.good("run", "m.pbtxt", *self.FEEDS, "--fetch", "y", "--fetch", "z:0", "--fetch", "y:0", "--out", out), "")
        results = read_npz(out)
        self.assertEqual(list(results), ["y", "z:0", "y:0"])
        self.assertEqual(results["y"], ((3,), [12.25, 14, 19]))
        self.assertEqual(results["z:0"], ((3,), [-1.5, 2, -3]))

    def test_a_profile_for_chrome(self):
        out = self.folder / "t.json"
        status, _, errors = self.panto("run", "m.pbtxt", *self.FEEDS, "--fetch", "y", "--optimize", "off", "--profile",
                                       out)
        self.assertEqual(status, 0, errors)
        self.assertRegex(errors, r"\Aop +device +calls +self ms[^\n]+\n(AddV2|Mul) [^\n]+\n(AddV2|Mul) [^\n]+\n\Z")
        events = json.loads(out.read_text())["traceEvents"]
        nodes = [e["args"]["name"] for e in events if e["ph"] == "X"]
        self.assertEqual(nodes, ["square", "y"])
        self.assertTrue(all(e["dur"] >= 0 and e["args"]["bytes"] >= 24 for e in events if e["ph"] == "X"))
        self.assertTrue(all(e["args"]["flops"] >= 3 and e["args"]["outputs"] == "float32[3]" for e in events
                            if e["ph"] == "X"))
        self.assertTrue([e for e in events if e["name"] == "process_name" and "CPU:0" in e["args"]["name"]])
        self.bad("NotFound: ", "run", "m.pbtxt", *self.FEEDS, "--profile", self.folder / "none" / "t.json")

    def test_a_report_is_a_page_without_anything_from_outside(self):
        """Of TensorFlow's own kinds of values, written by hand; tags are hostile."""
        events = tfevents(
            [('</title><script>alert("x")</script>', 0.5), ("loss & more", 2.0), ("loss & more", 1.0)])
        (self.folder / "run").mkdir()
        (self.folder / "run" / "events.out.tfevents.1").write_bytes(events)
        out = self.folder / "r.html"
        self.assertEqual(self.good("report", self.folder / "run", "--out", out, "--title", "<b>"), f"{out}\n")
        page = Page()
        page.feed(out.read_text())
        page.close()
        self.assertEqual(page.open, [])
        self.assertEqual(page.elements.count("svg"), 2)
        self.assertLessEqual(set(page.elements), {"html", "head", "meta", "style", "title", "body", "h1", "h2", "section",
                                                  "figure", "figcaption", "small", "svg", "path", "text"})
        self.assertIn('</title><script>alert("x")</script> ', page.text)
        self.assertIn("loss & more ", page.text)
        self.assertIn("<b>", page.text)
        self.assertFalse([name for name in page.attributes if name.startswith("on") or name in ("href", "src")])
        self.bad("NotFound: ", "report", self.folder / "none")
        self.bad("NotFound: ", "report", self.folder / "run", "--profile", self.folder / "none.json")

    def test_feeds_by_npz_and_by_tensor_name(self):
        with zipfile.ZipFile(self.folder / "f.npz", "w") as archive:
            archive.writestr("x:0.npy", npy([2]))
            archive.writestr("k.npy", npy([1], ()))
        self.assertEqual(self.good("run", "m.pbtxt", "--feeds", "f.npz", "--fetch", "y"), "y:\n[5.]\n")
        self.assertEqual(self.good("run", "m.pbtxt", "--feed", "x:0=x.npy", "--fetch", "z"), "z:\n[-1.5  2.  -3. ]\n")

    def test_any_tensor_may_be_fed(self):
        self.assertEqual(self.good("run", "m.pbtxt", "--feed", "square=x.npy", "--feed", "k=k.npy", "--fetch", "y"),
                         "y:\n[11.5  8.  13. ]\n")

    def test_feeds_that_do_not_fit(self):
        y = ("--fetch", "y")
        self.bad("InvalidArgument: ", "run", "m.pbtxt", "--feed", "x=x.npy", *y)
        self.bad("InvalidArgument: ", "run", "m.pbtxt", *self.FEEDS, "--feed", "x=x.npy", *y)
        self.bad("InvalidArgument: ", "run", "m.pbtxt", *self.FEEDS, "--feed", "x:0=x.npy", *y)
        self.bad("NotFound: ", "run", "m.pbtxt", *self.FEEDS, "--feed", "nobody=x.npy", *y)
        self.bad("InvalidArgument: --feed: expected NAME=FILE.npy, got 'x.npy'", "run", "m.pbtxt", "--feed", "x.npy")
        self.bad("InvalidArgument: --feed: expected NAME=FILE.npy, got 'x='", "run", "m.pbtxt", "--feed", "x=")
        self.bad("NotFound: ", "run", "m.pbtxt", "--feed", "x=none.npy")
        self.bad("InvalidArgument: ", "run", "m.pbtxt", "--feed", "x=m.pbtxt")
        self.write("wide.npy", npy([1, 2], (1, 2)))
        self.bad("InvalidArgument: ", "run", "m.pbtxt", "--feed", "x=wide.npy", "--feed", "k=k.npy")
        self.write("double.npy", npy([1, 2], descr="<f8"))
        text = self.bad("InvalidArgument: ", "run", "m.pbtxt", "--feed", "x=double.npy", "--feed", "k=k.npy")
        self.assertIn("float32", text)
        self.assertIn("float64", text)

    def test_fetches_that_do_not_exist(self):
        self.bad("NotFound: ", "run", "m.pbtxt", *self.FEEDS, "--fetch", "why")
        self.bad("OutOfRange: ", "run", "m.pbtxt", *self.FEEDS, "--fetch", "y:1")
        self.bad("InvalidArgument: ", "run", "m.pbtxt", *self.FEEDS, "--fetch", "^y")
        self.bad("NotFound: ", "run", "m.pbtxt", *self.FEEDS, "--target", "why")

    def test_targets_run_for_their_effect(self):
        self.write("print.pbtxt", node("text", "Const", (), ATTR.format("dtype", "type: DT_STRING"), ATTR.format(
            "value", 'tensor { dtype: DT_STRING tensor_shape { } string_val: "ran" }')) + node("say", "PrintV2", ["text"]))
        for arguments in (["--target", "say"], []):
            self.assertEqual(self.panto("run", "print.pbtxt", *arguments), (0, "", "ran\n"))
        status, output, errors = self.panto("run", "print.pbtxt", "--fetch", "text")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("ran", output)

    def test_strings_travel_as_bytes(self):
        text = node("t", "Const", (), ATTR.format("dtype", "type: DT_STRING"), ATTR.format(
            "value", 'tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "ab" string_val: "c" }'))
        self.write("t.pbtxt", text)
        self.good("run", "t.pbtxt", "--fetch", "t", "--out", "t.npz")
        self.assertEqual(read_npz(self.folder / "t.npz"), {"t": ((2,), [b"ab", b"c"])})

    # ---- run: files that cannot be written, models that cannot be run ----

    def test_an_unwritable_out_leaves_nothing(self):
        before = sorted(os.listdir(self.folder))
        self.bad("NotFound: ", "run", "m.pbtxt", *self.FEEDS, "--out", "no/such/folder/r.npz")
        (self.folder / "taken.npz").mkdir()
        self.bad("", "run", "m.pbtxt", *self.FEEDS, "--out", "taken.npz")
        (self.folder / "taken.npz").rmdir()
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        # What was there stays when the run fails.
        self.write("r.npz", "precious")
        self.bad("InvalidArgument: ", "run", "m.pbtxt", "--fetch", "y", "--out", "r.npz")
        self.assertEqual((self.folder / "r.npz").read_text(), "precious")

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            status, _, errors = self.panto("run", "m.pbtxt", *self.FEEDS, stdout=full)
        self.assertEqual(status, 1)
        self.assertTrue(errors.startswith("error: "), errors)

    def test_output_beyond_the_limit_is_an_error(self):
        self.write("large.npy", npy([1.5] * 100000))
        before = sorted(os.listdir(self.folder))

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100 * 1024, 100 * 1024))

        feeds = ("--feed", "x=large.npy", "--feed", "k=k.npy")
        for out in ("r.npz", "also-new.npz"):
            status, output, errors = self.panto("run", "m.pbtxt", *feeds, "--out", out, preexec_fn=limit)
            self.assertEqual((status, output), (1, ""), errors)
            self.assertRegex(errors, r"\Aerror: ResourceExhausted: [^\n]+\n\Z")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_devices_and_strange_names_as_files(self):
        self.bad("InvalidArgument: cannot read file '/dev/zero': ", "run", "/dev/zero")
        self.bad("InvalidArgument: cannot read file '/dev/zero': ", "show", "/dev/zero")
        self.bad("InvalidArgument: cannot read file '/dev/zero': ", "run", "m.pbtxt", "--feed", "x=/dev/zero")
        self.bad("InvalidArgument: ", "run", "m.pbtxt", "--feeds", "/dev/zero")
        os.symlink("loop", self.folder / "loop")
        for path in ("loop", "x" * 300, "y/" * 3000):
            for command in (("run", path), ("show", path), ("run", "m.pbtxt", "--feed", "x=" + path),
                            ("run", "m.pbtxt", "--feeds", path), ("run", "m.pbtxt", *self.FEEDS, "--out", path)):
                self.bad("InvalidArgument: ", *command)

    def test_pipes_are_read(self):
        os.mkfifo(self.folder / "model")

        def feed():
            with open(self.folder / "model", "w") as pipe:
                pipe.write(MODEL)

        writer = threading.Thread(target=feed)
        writer.start()
        self.good("run", "model", *self.FEEDS)
        writer.join()

    def test_messages_are_short_and_visible(self):
        """Whatever bytes a file holds, and however many."""
        long = "n" * (1 << 20)
        strange = "a\\377\\033[31m\\001"
        numbers = "list { " + "i: 7 " * 100000 + "}"
        for name, text in {
                "name": node(long, "Neg", ["x"]),
                "strange": node(strange, "Neg", ["x"]),
                "op": node("x", long),
                "strange op": node("x", strange),
                "input": placeholder("x", [2]) + node("y", "Neg", [long], FLOAT),
                "strange input": placeholder("x", [2]) + node("y", "Neg", [strange], FLOAT),
                "attribute": placeholder("x", [2]) + node("y", "Neg", ["x"], FLOAT, ATTR.format(strange, "i: 1")),
                "text": node("x", "Placeholder", (), ATTR.format("dtype", f's: "{strange}{long}"')),
                "padding": placeholder("x", [1, 2, 2, 1]) +
                           node("y", "MaxPool", ["x"], FLOAT, ATTR.format("padding", f's: "{strange}{long}"'),
                                ATTR.format("ksize", "list { i: [1, 1, 1, 1] }"),
                                ATTR.format("strides", "list { i: [1, 1, 1, 1] }")),
                "list": placeholder("x", [1, 2, 2, 1]) +
                        node("y", "MaxPool", ["x"], FLOAT, ATTR.format("padding", 's: "VALID"'),
                             ATTR.format("ksize", numbers), ATTR.format("strides", numbers)),
                "device": placeholder("x", [2]).replace('op: "P', f'device: "/job:{strange}{long}" op: "P'),
                "dimensions": placeholder("x", [3] * 100000),
        }.items():
            with self.subTest(name):
                self.write("strange.pbtxt", text)
                status, output, errors = self.panto("run", "strange.pbtxt")
                self.assertEqual((status, output), (1, ""), errors[:500])
                self.assertLess(len(errors.encode()), 4200)
                self.assertTrue(errors[:-1].isprintable(), repr(errors))
                self.assertEqual(errors.count("\n"), 1)

    def test_graphs_that_are_at_fault_say_so_once(self):
        for name, text in {
                "division": integer("a", 7) + integer("b", 0) +
                            node("y", "Div", ["a", "b"], ATTR.format("T", "type: DT_INT32")),
                "shape": integer("a", -5) + placeholder("x", [4]) +
                         node("y", "Reshape", ["x", "a"], ATTR.format("T", "type: DT_FLOAT")) + node("z", "Neg", ["y"]),
                "permutation": integer("a", 3) + placeholder("x", [-1]) +
                               node("y", "Transpose", ["x", "a"], ATTR.format("T", "type: DT_FLOAT")),
        }.items():
            with self.subTest(name):
                self.write("faulty.pbtxt", text)
                feeds = ["--feed=x=x.npy"] if 'name: "x"' in text else []
                self.bad("InvalidArgument: ", "run", "faulty.pbtxt", "--fetch", "y", *feeds)

    def test_what_is_not_there_yet(self):
        self.bad("Unimplemented: --signature: ", "run", "m.pbtxt", *self.FEEDS, "--signature", "serving_default")
        self.bad(f"Unimplemented: {self.folder}: ", "run", self.folder)
        self.bad(f"Unimplemented: ", "show", self.folder)
        self.write("strange.pbtxt", node("q", "QuantumFold"))
        self.assertIn("QuantumFold", self.bad("Unimplemented: ", "run", "strange.pbtxt"))
        self.write("quotient.pbtxt", integer("a", 7) + integer("b", 2) +
                   node("y", "RealDiv", ["a", "b"], ATTR.format("T", "type: DT_INT32")))
        self.assertIn("int32", self.bad("Unimplemented: ", "run", "quotient.pbtxt", "--fetch", "y"))

    def test_models_that_are_no_graphs(self):
        self.bad("NotFound: ", "run", "none.pb")
        self.write("noise.pb", bytes(range(256)) * 3)
        self.bad("DataLoss: ", "run", "noise.pb")
        self.write("broken.pbtxt", MODEL + "node {")
        self.bad("DataLoss: ", "run", "broken.pbtxt")
        whole = (GRAPHS / "mlp_predict.pb").read_bytes()
        self.write("cut.pb", whole[:len(whole) // 2])
        self.bad("DataLoss: ", "run", "cut.pb")
        self.write("twice.pbtxt", MODEL + placeholder("x", [1]))
        self.bad("InvalidArgument: ", "run", "twice.pbtxt")
        negations = (("a", "b"), ("b", "a"), ("c", "b"))
        self.write("cycle.pbtxt", "".join(node(name, "Neg", [input], FLOAT) for name, input in negations))
        self.bad("InvalidArgument: ", "run", "cycle.pbtxt")
        self.write("dangling.pbtxt", node("a", "Neg", ["b"], FLOAT))
        self.assertIn("'a'", self.bad("InvalidArgument: ", "run", "dangling.pbtxt"))

    def test_other_formats_are_named(self):
        def field(number, data):
            if isinstance(data, int):
                return bytes([number << 3, data])
            self.assertLess(len(data), 128)
            return bytes([number << 3 | 2, len(data)]) + data

        def archive(entry):
            with zipfile.ZipFile(self.folder / "a.zip", "w") as made:
                made.writestr(entry, "x" * 300)
            return (self.folder / "a.zip").read_bytes()

        graph = field(1, field(1, b"a") + field(2, b"NoOp"))
        meta = field(1, field(5, b"2.11.0")) + field(2, graph)
        header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        formats = {
            "x/saved_model.pb": ("a SavedModel; in TensorFlow, freeze", field(1, 1) + field(2, meta)),
            "x/saved_model.pbtxt": ("a SavedModel;", "saved_model_schema_version: 1\nmeta_graphs { }"),
            "renamed.pb": ("a SavedModel;", field(2, meta) + field(1, 1)),
            "m.ckpt.meta": ("a MetaGraphDef", meta),
            "renamed_too.pb": ("a MetaGraphDef", meta + field(3, field(1, b"save/Const:0"))),
            "meta.pbtxt": ("a MetaGraphDef", "meta_info_def {\n}"),
            "m.ckpt.index": ("a TensorFlow checkpoint;", bytes(40) + bytes.fromhex("57fb808b247547db")),
            "m.ckpt.data-00000-of-00001": ("a TensorFlow checkpoint's data;", bytes(range(200))),
            "checkpoint": ("a TensorFlow checkpoint;", 'model_checkpoint_path: "m.ckpt"'),
            "weights.h5": ("an HDF5 file", b"\x89HDF\r\n\x1a\n" + bytes(100)),
            "m.keras": ("a Keras model", archive("model.weights.h5")),
            "m.pt": ("a PyTorch file", archive("m/data.pkl")),
            "old.pth": ("a PyTorch file", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + bytes(9)),
            "m.onnx": ("an ONNX model", field(1, 8) + field(2, b"pytorch") + field(7, b"") + field(8, field(2, 17))),
            "m.tflite": ("a TensorFlow Lite model", b"\x1c\0\0\0TFL3" + bytes(90)),
            "x.npy": ("NumPy arrays", npy([1.0])),
            "x.npz": ("NumPy arrays", archive("x.npy")),
            "w.safetensors": ("a .safetensors file", struct.pack("<Q", len(header)) + header + bytes(4)),
            "m.zip": ("an archive", archive("m.pb")),
            "m.pb.gz": ("an archive", b"\x1f\x8b\x08\0" + bytes(30)),
        }
        (self.folder / "x").mkdir()
        for name, (what, content) in formats.items():
            with self.subTest(name):
                self.write(name, content)
                for command in ("run", "show"):
                    errors = self.bad("", command, name)
                    self.assertRegex(errors, r"\Aerror: (Unimplemented|InvalidArgument): model: expected a GraphDef, got ")
                    self.assertIn(f"got {what}", errors)
                    self.assertIn(name, errors)
        # A graph is one, whatever its name says.
        self.write("graph.onnx", graph)
        self.assertIn("NoOp", self.good("show", "graph.onnx"))

    def test_a_name_with_line_breaks_makes_one_line(self):
        self.write("n.pbtxt", node("a", "No\\nSuch\\x1bOp"))
        self.bad("", "run", "n.pbtxt")

    def test_optimize(self):
        expected = self.good("run", "m.pbtxt", *self.FEEDS)
        for passes in ("off", "cse", "-cse", "-fusion", "cse,folding"):
            status, output, errors = self.panto("run", "m.pbtxt", *self.FEEDS, "--optimize", passes)
            if passes == "cse,folding" and status == 1:  # the passes' names are theirs
                continue
            self.assertEqual((status, output, errors), (0, expected, ""), passes)
        self.bad("InvalidArgument: ", "run", "m.pbtxt", *self.FEEDS, "--optimize", "faster")

    # y = ((x + 1) @ w) and -x, of which the graph says it twice and in a roundabout way; x has any number of rows
    ROUNDABOUT = (placeholder("x", [-1, 2]) + placeholder("w", [2, 2]) +
                  node("p", "MatMul", ["x", "w"], FLOAT) + node("q", "MatMul", ["x", "w"], FLOAT) +
                  node("n", "Neg", ["q"], FLOAT) + node("nn", "Neg", ["n"], FLOAT) +
                  node("y", "AddV2", ["p", "nn"], FLOAT) + node("z", "Neg", ["x"], FLOAT) +
                  node("r", "Relu", ["z"], FLOAT))

    def test_optimize_command(self):
        """Writes a smaller graph that gives the same, and shows what that saves."""
        self.write("long.pbtxt", self.ROUNDABOUT)
        self.write("x2.npy", npy([1, 2, -3, 4], (2, 2)))
        feeds = ("--feed", "x=x2.npy", "--feed", "w=x2.npy")
        expected = self.good("run", "long.pbtxt", *feeds, "--optimize", "off")
        for out in ("short.pb", "short.pbtxt"):
            table = self.good("optimize", "long.pbtxt", out).splitlines()
            self.assertRegex(table[0], r"^ +before +after$")
            rows = {line[:20].strip(): line[20:].split() for line in table[1:]}
            self.assertEqual(rows["nodes"], ["9", "6"])
            self.assertEqual(rows["functions"], ["0", "0"])
            for what in ("flops", "bytes moved", "peak bytes"):
                self.assertEqual(rows[what], ["unknown", "unknown"])
            self.assertEqual(rows["cse"], ["1", "changes"])
            self.assertEqual(self.good("run", out, *feeds), expected)
        self.assertNotIn("_Fused", (self.folder / "short.pbtxt").read_text())
        counted = self.good("optimize", "long.pbtxt", "short.pb", "--shape", "x=10,2")
        # Two products of 10 x 2 x 2 of two operations each, and five other ops on 20 elements; then one, and three.
        self.assertRegex(counted, r"\nflops +260 +140\n")
        self.assertRegex(counted, r"\nbytes moved +\d+ +\d+\n")
        self.assertRegex(counted, r"\npeak bytes +\d+ +\d+\n")
        # Only what is asked for; with ops that only this program has.
        self.good("optimize", "long.pbtxt", "part.pbtxt", "--fetch", "z")
        self.assertNotIn("MatMul", (self.folder / "part.pbtxt").read_text())
        self.good("optimize", "long.pbtxt", "own.pbtxt", "--own-ops")
        self.assertIn('op: "_Fused', (self.folder / "own.pbtxt").read_text())
        self.assertEqual(self.good("run", "own.pbtxt", *feeds), expected)
        self.good("optimize", "long.pbtxt", "same.pb", "--optimize", "off")
        self.assertEqual(self.good("run", "same.pb", *feeds), expected)

    def test_optimize_command_refuses(self):
        self.write("long.pbtxt", self.ROUNDABOUT)
        for arguments in (("--optimize", "fusion"), ("--optimize", "faster"), ("--shape", "x"), ("--shape", "x=2,"),
                          ("--shape", "x=a"), ("--shape", "x=3,3"), ("--shape", "y=10,2")):
            self.bad("InvalidArgument: ", "optimize", "long.pbtxt", "out.pb", *arguments)
        self.bad("NotFound: ", "optimize", "long.pbtxt", "out.pb", "--fetch", "nobody")
        self.bad("NotFound: ", "optimize", "long.pbtxt", "out.pb", "--shape", "nobody=2")
        self.bad("NotFound: ", "optimize", "nothing.pbtxt", "out.pb")
        self.assertFalse((self.folder / "out.pb").exists())
        self.usage("optimize", "long.pbtxt")

    def test_devices_option(self):
        self.assertEqual(self.good("run", "m.pbtxt", "--feed", "x=x.npy", "--fetch", "z", "--devices", "cpu:3"),
                         "z:\n[-1.5  2.  -3. ]\n")
        for text in ("cpu", "cpu:", "cpu:x", "gpu:2", "cpu:2x", "cpu:0", "cpu:1000000"):
            self.bad("InvalidArgument: ", "run", "m.pbtxt", "--devices", text)

    def test_placement_options(self):
        """Where nodes run: as TensorFlow's log says it, placed by cost, and measured for the next run."""
        self.write("two.pbtxt", placeholder("x", [2, 2]) + node("a", "MatMul", ["x", "x"], FLOAT) +
                   node("y", "Neg", ["a"], FLOAT).replace(" }\n", ' device: "/cpu:1" }\n'))
        self.write("square.npy", npy([1, 2, 3, 4], (2, 2)))
        arguments = ("run", "two.pbtxt", "--feed", "x=square.npy", "--devices", "cpu:2", "--optimize", "off")
        status, output, errors = self.panto(*arguments, "--log-device-placement")
        self.assertEqual((status, output), (0, "y:0:\n[[ -7. -10.]\n [-15. -22.]]\n"))
        place = "/job:localhost/replica:0/task:0/device:CPU"
        self.assertEqual(errors, f"x: (Placeholder): {place}:0\na: (MatMul): {place}:0\ny: (Neg): {place}:1\n")
        for known in range(2):
            status, output, errors = self.panto(*arguments, "--by-cost", "--costs", "costs.json")
            self.assertEqual(status, 0, errors)
            self.assertRegex(errors, r"\Aplaced by cost: predicted \d+\.\d{3} ms, best single device "
                                     r"/device:CPU:[01] \d+\.\d{3} ms, measured \d+\.\d{3} ms\n\Z")
            self.assertIn("CPU MatMul(float32[2,2],float32[2,2],)", (self.folder / "costs.json").read_text())
        self.write("costs.json", "{}")
        self.bad("InvalidArgument: costs.json: ", *arguments, "--by-cost", "--costs", "costs.json")
        self.usage(*arguments, "--costs", "costs.json")

    def test_library_option(self):
        for command in (["run", "m.pbtxt"], ["show", "m.pbtxt"], ["ops"]):
            self.bad("NotFound: ", *command, "--library", "none.so")

    # ---- the other commands ----

    def test_show(self):
        text = self.good("show", "m.pbtxt")
        for part in ("nodes      5", "x", "float32[?]", "y", "Mul", "Neg"):
            self.assertIn(part, text)
        self.assertEqual(len(self.good("show", "m.pbtxt", "--nodes").strip().splitlines()), 5)
        self.assertRegex(self.good("show", "m.pbtxt", "--dot"), r"(?s)\Adigraph .*\}\n\Z")
        self.bad("NotFound: ", "show", "none.pb")

    def picture(self, file):
        """({(class, text): colour} of boxes, (class, tensors, dashed) of edges, all text) of a picture."""
        svg = xml.etree.ElementTree.parse(self.folder / file).getroot()
        space = "{http://www.w3.org/2000/svg}"
        nodes, edges = {}, []
        for group in svg.iter(space + "g"):
            kind = group.get("class", "").split()
            if kind[:1] == ["node"]:
                shape = next(e for e in group.iter() if e.tag in (space + "path", space + "polygon", space + "ellipse"))
                text = " ".join(t.text for t in group.iter(space + "text"))
                nodes[kind[-1], text] = shape.get("fill")
            elif kind[:1] == ["edge"]:
                path = next(group.iter(space + "path"))
                link = next(group.iter(space + "a"))
                edges.append((kind[-1], link.get("{http://www.w3.org/1999/xlink}title"),
                              path.get("stroke-dasharray") is not None))
        return nodes, edges, [t.text for t in svg.iter(space + "text")]

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_show_svg(self):
        """Scopes are frames, and one box where there would be too many; functions are in the nodes that call them."""
        self.write("scopes.pbtxt", placeholder("x", [2]) + node("a/b/n", "Neg", ["x"], FLOAT) +
                   node("a/b/e", "Exp", ["a/b/n"], FLOAT) + node("a/t", "Tanh", ["a/b/e"], FLOAT) +
                   node("y", "AddV2", ["a/t", "a/b/e"], FLOAT))
        self.assertEqual(self.good("show", "scopes.pbtxt", "--svg", "all.svg"), "")
        nodes, edges, text = self.picture("all.svg")
        self.assertEqual(sorted(t for _, t in nodes), ["a/b/e Exp", "a/b/n Neg", "a/t Tanh", "x Placeholder", "y AddV2"])
        self.assertEqual(len(edges), 5)
        self.assertIn("a/b", text)  # the frame's label
        self.assertEqual(self.good("show", "scopes.pbtxt", "--svg", "few.svg", "--boxes", "3"), "")
        nodes, edges, _ = self.picture("few.svg")
        self.assertEqual(sorted(nodes), [("node", "x Placeholder"), ("node", "y AddV2"), ("scope", "a 3 nodes")])
        self.assertEqual(sorted(edges), [("edge", "a/b/e, a/t", False), ("edge", "x", False)])
        self.bad("ResourceExhausted: picture: expected at most 2 boxes, got 3 ", "show", "scopes.pbtxt", "--svg",
                 "no.svg", "--boxes", "2")
        self.bad("InvalidArgument: --svg: expected a path *.svg, got 'g.png'", "show", "scopes.pbtxt", "--svg", "g.png")
        # A graph of 300 nodes in ten layers.
        large = placeholder("x", [2])
        last = "x"
        for layer in range(10):
            for step in range(30):
                large += node(f"layer_{layer}/step_{step}", "Neg", [last], FLOAT)
                last = f"layer_{layer}/step_{step}"
        self.write("large.pbtxt", large)
        self.assertEqual(self.good("show", "large.pbtxt", "--svg", "large.svg"), "")
        self.assertEqual(len(self.picture("large.svg")[0]), 11)

    def test_show_svg_without_graphviz(self):
        with unittest.mock.patch.dict(os.environ, PATH="/nowhere"):
            self.bad("Unavailable: picture: expected Graphviz", "show", "m.pbtxt", "--svg", "g.svg")
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.startswith("g.svg")], [])

    def test_diff(self):
        self.write("same.pbtxt", MODEL)
        self.assertEqual(self.good("diff", "m.pbtxt", "same.pbtxt"), "")
        self.write("other.pbtxt", MODEL.replace('"z" op: "Neg"', '"z" op: "Exp"').replace('"square"', '"squared"'))
        status, output, errors = self.panto("diff", "m.pbtxt", "other.pbtxt")
        self.assertEqual((status, errors), (1, ""))
        self.assertEqual(output, "- z = Neg(x) -> float32[?]\n+ z = Exp(x) -> float32[?]\n  square is called squared\n")
        self.bad("NotFound: ", "diff", "m.pbtxt", "none.pb")
        self.usage("diff", "m.pbtxt")

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_show_placement(self):
        """Boxes with the colours of devices, and thick edges from one to another."""
        strange = "a/b-c.d>e"
        self.write("two.pbtxt", placeholder("x", [2]) + node(strange, "Exp", ["x"], FLOAT) +
                   node("y", "Neg", [strange, "^x"], FLOAT).replace(" }\n", ' device: "/cpu:1" }\n'))
        self.assertEqual(self.good("show", "two.pbtxt", "--placement", "g.svg", "--devices", "cpu:2"), "")
        nodes, edges, drawn = self.picture("g.svg")
        self.assertEqual(sorted(nodes), [("device", "/device:CPU:0"), ("device", "/device:CPU:1"),
                                         ("node", f"{strange} Exp"), ("node", "x Placeholder"), ("node", "y Neg")])
        colour = {text: fill for (_, text), fill in nodes.items()}
        self.assertEqual(colour[f"{strange} Exp"], colour["/device:CPU:0"])
        self.assertEqual(colour["x Placeholder"], colour["/device:CPU:0"])
        self.assertEqual(colour["y Neg"], colour["/device:CPU:1"])
        self.assertNotEqual(colour["/device:CPU:0"], colour["/device:CPU:1"])
        self.assertEqual(sorted(edges), [("edge", "x", False), ("transfer", "^x", True), ("transfer", strange, False)])
        self.assertEqual(self.good("show", "two.pbtxt", "--placement", "c.svg", "--devices", "cpu:2", "--by-cost"), "")
        self.bad("InvalidArgument: --placement: expected a path *.svg, got 'g.png'", "show", "two.pbtxt",
                 "--placement", "g.png")
        self.bad("InvalidArgument: device: expected one of /device:CPU:0", "show", "two.pbtxt", "--placement", "g.svg")
        self.usage("show", "two.pbtxt", "--by-cost")

    def test_show_of_ops_that_are_not_here(self):
        """A loop, as TensorFlow writes them, an op with a strange name, and one without outputs that anybody reads."""
        attr = ATTR.format("k", "i: 2")
        self.write("strange.pbtxt", placeholder("x", [-1]) + node("c", "NoOp") + node("y", "Foo", ["x", "^c"], attr) +
                   node("in", "Merge", ["y:3", "out"], FLOAT) + node("out", "NextIteration", ["in"]) +
                   node("z", "Foo", ["y"], ATTR.format("s", 's: "a\\n\\033[1m\\"b"')) +
                   node("w", "No\\nSuch\\x1bOp", ["z"], ATTR.format("long", f's: "{"q" * 5000}"')))
        untyped = "inputs: expected known types, got one of an op that is not here"
        footer = ("3 nodes of 2 unknown ops: Foo (2), No\\nSuch\\x1bOp (1)\n"
                  f"cannot be run here: node 'in' of Merge: {untyped}\n"
                  f"cannot be run here: node 'out' of NextIteration: {untyped}\n")
        lines = self.good("show", "strange.pbtxt", "--nodes").splitlines()
        # Inputs first, but for a loop's way back.
        self.assertEqual(lines[:6], [
            "c = NoOp()", "x = Placeholder(; dtype=float32, shape=[?]) -> float32[?]",
            "y = Foo?(x, ^c; k=2) -> ?, ?, ?, ?", "in = Merge?(y:3, out; T=float32) -> ?",
            "out = NextIteration?(in) -> ?", 'z = Foo?(y; s="a\\n\\x1b[1m\\"b") -> ?'])
        self.assertTrue(lines[6].startswith('w = No\\nSuch\\x1bOp?(z; long="qqq'), lines[6])
        self.assertLess(len(lines[6]), 400)
        self.assertEqual(lines[7:], footer.splitlines())
        text = self.good("show", "strange.pbtxt")
        self.assertTrue(text.endswith(footer), text)
        for part in ("nodes      7\n", "  Foo?                         2\n", "targets\n  w\n"):
            self.assertIn(part, text)
        dot = self.good("show", "strange.pbtxt", "--dot")
        self.assertRegex(dot, r"(?s)\Adigraph .*\}\n// 3 nodes of 2 unknown ops.*\n\Z")
        self.assertIn('label="y\\nFoo?\\nk=2", color=red', dot)
        self.assertIn('label="w\\nNo\\\\nSuch\\\\x1bOp?', dot)
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg", "-o", os.devnull], input=dot, text=True, check=True, timeout=60)
        # What does not need them runs; what does fails by their names, before anything is done.
        self.write("part.pbtxt", MODEL + node("u", "Foo", ["y"], attr) + node("v", "Neg", ["u:1"], FLOAT))
        self.assertEqual(self.good("run", "part.pbtxt", *self.FEEDS, "--fetch", "y"),
                         self.good("run", "m.pbtxt", *self.FEEDS, "--fetch", "y"))
        unknown = "error: Unimplemented: op: expected one that this build has, got 'Foo' [node 'u']"
        for what in (["--fetch", "v"], ["--fetch", "y", "--target", "u"], ["--fetch", "u:1"], ["--fetch", "u:5"], []):
            self.assertTrue(self.bad("", "run", "part.pbtxt", *self.FEEDS, *what).startswith(unknown), what)
        self.write("u.npy", npy([1.0, -2.0]))
        self.assertEqual(self.good("run", "part.pbtxt", "--feed", "u:1=u.npy", "--fetch", "v"), "v:\n[-1.  2.]\n")
        # What no graph can be is an error still.
        self.write("dangling.pbtxt", node("a", "Foo", ["b"]))
        self.bad("InvalidArgument: ", "show", "dangling.pbtxt")
        self.write("twice.pbtxt", node("a", "Foo") * 2)
        self.bad("InvalidArgument: ", "show", "twice.pbtxt")
        self.write("unnamed.pbtxt", node("a\\nb", "Foo"))
        self.bad("InvalidArgument: ", "show", "unnamed.pbtxt")

    def test_show_of_calls_and_of_types_that_are_not_here(self):
        function = ('library { function { signature { name: "f" input_arg { name: "a" type: DT_FLOAT } '
                    'output_arg { name: "r" type: DT_FLOAT } } ' +
                    node("n", "Neg", ["a"], FLOAT).replace("node {", "node_def {", 1) +
                    'ret { key: "r" value: "n:y:0" } } }\n')
        self.write("calls.pbtxt", MODEL + node("v", "f", ["y"]) + function)
        self.assertIn("  PartitionedCall ", self.good("show", "calls.pbtxt"))
        self.assertEqual(self.good("show", "calls.pbtxt", "--functions"),
                         "f(a: float32?) -> (float32?) = n\n"
                         "a = Placeholder(; dtype=float32) -> float32?\nn = Neg(a) -> float32?\n\n")
        self.write("type.pbtxt", node("x", "Placeholder", (), ATTR.format("dtype", "type: DT_INT4")))
        text = self.good("show", "type.pbtxt", "--nodes")
        self.assertRegex(text, r"\Ax = Placeholder\?\(; dtype=\.\.\.\)\ncannot be run here: node 'x' [^\n]*INT4[^\n]*\n\Z")

    def test_ops_as_lists(self):
        text = self.good("ops", "--pbtxt", "MatMul")
        self.assertIn('op {\n  name: "MatMul"\n  input_arg {\n    name: "a"\n    type_attr: "T"', text)
        everything = json.loads(self.good("ops", "--json"))["op"]
        names = [op["name"] for op in everything]
        self.assertEqual(names, sorted(names))
        public = [name for name in names if not name.startswith("_")]
        self.assertIn(f"Breadth: {len(public)} ops", (ROOT / "README.md").read_text())
        self.assertIn("MatMul", names)
        self.write("ops.json", json.dumps({"op": everything}))
        self.write("ops.pbtxt", self.good("ops", "--pbtxt"))
        for file in ("ops.json", "ops.pbtxt"):
            self.assertEqual(self.good("ops", "--compare", file),
                             f"{len(names)} the same, 0 differ, 0 cannot be read, 0 not here\n")
        self.write("theirs.pbtxt", """
            op { name: "Tanh" input_arg { name: "y" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
                 attr { name: "T" type: "type" } }
            op { name: "Foo" }
            op { name: "Abs" input_arg { name: "x" type: DT_INT4 } }""")
        text = re.sub(r"float32\|[a-z0-9|]+", "TYPES", self.good("ops", "--compare", "theirs.pbtxt"))
        self.assertEqual(re.sub(r"float32, [a-z0-9, ]+, got", "ALL, got", text), textwrap.dedent("""\
            Tanh: inputs: (y: T) there, (x: T) here; attribute T: types: any there, TYPES here
            Foo: not here
            Abs: dtype: expected one of ALL, got DT_INT4
            0 the same, 1 differ, 1 cannot be read, 1 not here
            """))
        self.write("bad.pbtxt", "op { nam: 1 }")
        self.assertIn("line 1", self.bad("DataLoss: OpList", "ops", "--compare", "bad.pbtxt"))

    def test_ops_are_those_that_are_defined_and_wanted(self):
        listed = {op["name"] for op in json.loads(self.good("ops", "--json"))["op"]}
        defined, elsewhere = set(), set()
        for source in ROOT.glob("lib/**/*.cc"):
            text = source.read_text()
            defined.update(re.findall(r'define_op\((?:\s|//[^\n]*)*"(\w+)\(', text))
            for names in re.findall(r"\.aliases = \{([^}]*)\}", text):
                elsewhere.update(re.findall(r"\w+", names))
        self.assertEqual(listed, defined)
        # What is no op here is another name of one, or becomes others when a graph is read.
        for source in ROOT.glob("lib/graph/files/import/*.cc"):
            elsewhere.update(re.findall(r'"(\w+)["(]', source.read_text()))
        lines = (ROOT / "tests" / "graph" / "wanted_ops.txt").read_text().splitlines()
        wanted = {line for line in lines if line and ":" not in line and not line.startswith("#")}
        self.assertEqual(wanted - listed - elsewhere, set())
        self.assertGreater(len(wanted & listed), 700)

    def test_ops(self):
        listing = self.good("ops")
        self.assertGreater(len(listing.splitlines()), 80)
        self.assertIn("MatMul ", listing)
        text = self.good("ops", "MatMul")
        for part in ("MatMul(a: T, b: T;", "panto::mm", "CPU", "float32", "gradient   yes"):
            self.assertIn(part, text)
        self.assertIn("gradient   none: ", self.good("ops", "ArgMax"))
        self.assertIn("MatMul", self.bad("Unimplemented: ", "ops", "MatMull"))

    def test_devices(self):
        self.assertRegex(self.good("devices"), r"\A/device:CPU:0 +\S")

    def test_devices_say_why_there_is_no_gpu(self):
        with unittest.mock.patch.dict(os.environ, {"PANTO_CUDA": "off"}):
            said = self.good("devices")
        self.assertEqual(said.splitlines()[1:], ["no GPU: PANTO_CUDA=off"])


if __name__ == "__main__":
    unittest.main()
