"""Which files are compiled as one."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import tidy  # noqa: E402
import units  # noqa: E402


class UnitsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def units(self, size=8, before=(), **texts):
        for name, text in texts.items():
            (self.root / f"{name}.cc").write_text(text)
        before = [[f"{name}.cc" for name in unit] for unit in before]
        found = units.units_of(self.root, [f"{name}.cc" for name in texts], size, before)
        return ["".join(path.removesuffix(".cc") for path in unit) for unit in found]

    def test_each_file_is_in_one(self):
        self.assertEqual(self.units(2, a="", b="", c=""), ["ab", "c"])

    def test_no_two_define_one_name(self):
        self.assertEqual(self.units(a="void f() {}\n", b="int f = 1;\n", c="int g = 1;\n"), ["ac", "b"])
        self.assertEqual(self.units(a="struct F {};\n", b="using F = int;\n", c="constexpr int kF[] = {1};\n"), ["ac", "b"])

    def test_a_suite_of_tests_is_a_name(self):
        inner = "BOOST_AUTO_TEST_SUITE(inner)\nBOOST_AUTO_TEST_SUITE_END()\n"
        suite = "BOOST_AUTO_TEST_SUITE({})\n" + inner + "BOOST_AUTO_TEST_SUITE_END()\n"
        self.assertEqual(self.units(a=suite.format("rows"), b="int rows() {}\n", c="int inner() {}\n",
                                    d=suite.format("rows")), ["acd", "b"])
        beside = "int inner() { return 1; }\nBOOST_AUTO_TEST_SUITE(rows)\nBOOST_AUTO_TEST_SUITE_END()\n"
        self.assertEqual(self.units(a=suite.format("rows"), b=beside, c=suite.format("other")), ["ac", "b"])

    def test_a_file_may_have_a_namespace_of_its_own(self):
        text = "namespace test::{}_rows {{\nint f = 1;\n}}\n".format
        self.assertEqual(self.units(a=text("a"), b=text("b"), c="namespace test {\nint f = 1;\n}\n", d=text("e")),
                         ["ab", "c", "d"])

    def test_none_mentions_a_type_that_another_defines(self):
        self.assertEqual(self.units(a="struct Row {};\n", b="int f(Row row);\n", c="int g();  // a Row\n"), ["ac", "b"])
        (self.root / "rows.h").write_text("#pragma once\nstruct Row;\n")
        self.assertEqual(self.units(a="struct Row {};\n", b='#include "panto/rows.h"\n'), ["a", "b"])
        self.assertEqual(self.units(b='#include "panto/rows.h"\n', a="struct Row {};\n"), ["b", "a"])

    def test_a_header_declares_what_another_has_for_itself(self):
        (self.root / "sum.h").write_text("#pragma once\nint sum(int a);\n")
        (self.root / "more.h").write_text('#pragma once\n#include "panto/sum.h"\n')
        self.assertEqual(self.units(a='#include "panto/more.h"\n', b="static int sum(int a) { return a; }\n",
                                    c='#include "panto/sum.h"\nint sum(int a) { return a; }\n'), ["ac", "b"])

    def test_a_generated_header_declares_functions_of_ops(self):
        (self.root / "lib" / "ops").mkdir(parents=True)
        (self.root / "lib" / "ops" / "blocks.cc").write_text(
            'define_op("BroadcastToV2(x: T) -> (y: T)", {});\ndefine_op("Sub(x: T) -> (y: T)", {.cpp = "subtract"});\n')
        (self.root / "layer.h").write_text('#pragma once\n#include "panto/ops/math.h"\n')
        include = '#include "panto/layer.h"\n'
        for name in ("broadcast_to", "subtract"):
            define, call = f"static int {name}(int a) {{ return a; }}\n", f"int g = {name}(1);\n"
            self.assertEqual(self.units(a=include + call, b=define, c=include), ["ac", "b"])
            self.assertEqual(self.units(b=include + define, a=include + call, c=include), ["bc", "a"])
        self.assertEqual(self.units(a=call, b=define), ["ab"])

    def test_all_use_the_same_namespaces(self):
        self.assertEqual(self.units(a="using namespace matrix;\n", b="int f();\n", c="using namespace matrix;\n"), ["ac", "b"])
        self.assertEqual(self.units(b="int f();\n", a="using namespace matrix;  // of it\n"), ["b", "a"])

    def test_groups_outlive_a_new_file(self):
        names = dict.fromkeys("abcde", "")
        self.assertEqual(self.units(2, ["ac", "d"], **names), ["ac", "db", "e"])
        self.assertEqual(self.units(2, ["ax", "dc"], a="int f = 1;\n", b="", c="int f = 1;\n", d="int f = 1;\n"), ["ab", "d", "c"])

    def test_what_is_written(self):
        for name in "ab":
            (self.root / f"{name}.cc").write_text(f"int {name};\n")
        out = self.root / "build" / "units"
        printed = subprocess.run([sys.executable, ROOT / "tools" / "units.py", "--size", "2", "--root", self.root,
                                  "--out", out, self.root / "a.cc", self.root / "b.cc"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed, f"{out / 'unit-0.cc'}\n")
        self.assertEqual((out / "unit-0.cc").read_text(), '#include "panto/a.cc"\n#include "panto/b.cc"\n')
        # clang-tidy looks at the files of a unit with its options.
        (self.root / ".clang-tidy").write_text("Checks: '-*'\n")
        (self.root / "build" / "compile_commands.json").write_text(json.dumps(
            [{"directory": str(out.parent), "file": "units/unit-0.cc", "command": "c++ -Dx -c units/unit-0.cc"}]))
        read = tidy.Tidy(self.root, self.root / "build", set())
        self.assertEqual(read.commands, {"a.cc": ["-Dx"], "b.cc": ["-Dx"]})


if __name__ == "__main__":
    unittest.main()
