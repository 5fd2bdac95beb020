"""What the command says of graphs and ops, and what it makes of graphs: optimize, show, diff, ops, devices."""
import json
import os
import re
import shutil
import subprocess
import textwrap
import unittest
import unittest.mock
import xml.etree.ElementTree

from command import ATTR, CommandCase, FLOAT, MODEL, node, npy, placeholder, ROOT


class ShowTest(CommandCase):
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
