"""The command's contract: options, exit status, what goes to standard output and what to standard error."""
import json
import os
import resource
import struct
import threading
import unittest
import zipfile

from command import (ATTR, CommandCase, FLOAT, GRAPHS, integer, MODEL, node, npy, Page, placeholder, read_npz, tfevents)


class CommandTest(CommandCase):
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
