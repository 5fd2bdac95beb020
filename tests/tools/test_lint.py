"""Each lint rule fires on what it forbids and keeps quiet about what it allows."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import lint


class LintTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copy(ROOT / ".clang-format", self.root)
        self.add("lib/meson.build", "public_header_folders += 'lib/core'\n")
        self.add("lib/ops/math/math.cc", 'const Op& kMatMul = define_op(\n    "MatMul(a: T, b: T)", {.aliases = {"OldMatMul"}});\n')
        self.add("lib/ops/meson.build", "op_sources = files('math.cc')\n")

    def add(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def listed(self, path):
        """A meson.build that builds the file."""
        path = pathlib.PurePosixPath(path)
        if path.suffix in (".cc", ".cu") and not (self.root / path.parent / "meson.build").exists():
            self.add(path.parent / "meson.build", f"x = files('{path.name}')\n")

    def lint(self, path, text, listed=True):
        """The findings of one file as `line [rule]`."""
        self.add(path, text)
        if listed:
            self.listed(path)
        results = lint.check_rules(lint.Project(self.root), [path])
        self.output = "\n".join(str(finding) for findings in results.values() for finding in findings)
        return [f"{finding.line} [{finding.rule}]" for findings in results.values() for finding in findings]

    def fires(self, rule, path, text, line=1):
        self.assertEqual(self.lint(path, text), [f"{line} [{rule}]"], self.output)

    def quiet(self, path, text):
        self.assertEqual(self.lint(path, text), [], self.output)

    @unittest.skipUnless(shutil.which("clang-format-19"), "clang-format-19 is not installed")
    def test_command(self):
        """What `./dev lint` prints and returns."""
        command = [sys.executable, ROOT / "tools" / "lint.py", "--root", self.root]
        os.environ.pop("PANTO_TALLY", None)
        self.add("lib/base/meson.build", "x = files('a.cc')\n")
        self.add("lib/base/a.cc", "int x;\n")
        self.add("lib/base/b.cc", "int  x;\n")
        skipped = ", 1 skipped (clang-tidy, which needs --build)"
        result = subprocess.run([*command, self.root / "lib/base/a.cc"], capture_output=True, text=True)
        self.assertEqual((result.stdout, result.returncode), (f"{len(lint.RULES) + 1} passed, 0 failed{skipped}\n", 0))
        result = subprocess.run([*command, self.root / "lib/base/b.cc"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        found, layout, count = result.stdout.splitlines()
        self.assertTrue(found.startswith("lib/base/b.cc:1: no meson.build lists this file"), found)
        self.assertTrue(layout.startswith("lib/base/b.cc:1: not in the project's layout"), layout)
        self.assertEqual(count, f"{len(lint.RULES) - 1} passed, 2 failed{skipped}")

    def test_include_form(self):
        self.fires("include-form", "lib/base/a.cc", '#include "error.h"\n')
        self.fires("include-form", "lib/base/a.cc", '#include "lib/base/error.h"\n')
        self.fires("include-form", "lib/base/a.cc", "#include <panto/lib/base/error.h>\n")
        self.quiet("apps/a.cc", "#include <panto/panto.h>\n")

    def test_include_direction(self):
        for path, name in [("lib/base/a.cc", "lib/core/tensor/tensor.h"), ("lib/core/a.cc", "lib/ops/ops.h"),
                           ("lib/ops/a.cc", "lib/graph/graph.h"), ("lib/graph/a.cc", "lib/runtime/session.h"),
                           ("lib/runtime/a.cc", "device/cpu/x.h"), ("lib/runtime/a.cc", "trace/trace.h"),
                           ("device/cpu/a.cc", "autograd/tape.h"), ("autograd/a.cc", "trace/trace.h"),
                           ("trace/a.cc", "nn/dense.h"), ("trace/a.cc", "device/cpu/x.h"), ("nn/a.cc", "device/cpu/x.h"),
                           ("nn/a.cc", "tests/x.h"), ("lib/core/a.cc", "panto.h")]:
            with self.subTest(path=path, name=name):
                if path == "lib/ops/a.cc":
                    self.add("lib/ops/meson.build", "op_sources = files('a.cc', 'math.cc')\n")
                self.fires("include-direction", path, f'#include "panto/{name}"\n')
        for path, name in [("lib/ops/a.cc", "lib/core/tensor/tensor.h"), ("device/cpu/a.cc", "lib/runtime/x.h"),
                           ("device/cuda/a.cc", "device/cpu/functors.h"), ("autograd/a.cc", "lib/ops/ops.h"),
                           ("trace/a.cc", "autograd/tape.h"), ("nn/a.cc", "trace/trace.h"), ("tests/a.cc", "device/cpu/x.h"),
                           ("panto.h", "nn/dense.h")]:
            with self.subTest(path=path, name=name):
                self.quiet(path, ("#pragma once\n\n" if path.endswith(".h") else "") + f'#include "panto/{name}"\n')
        self.quiet("lib/base/a.cc", '// #include "panto/nn/dense.h"\n')

    def test_third_party(self):
        for path, name in [("lib/core/a.cc", "xtensor/xarray.hpp"), ("lib/ops/a.cc", "cblas.h"), ("trace/a.cc", "dnnl.hpp"),
                           ("device/cpu/a.cc", "cuda_runtime.h"), ("lib/core/a.cc", "google/protobuf/message.h"),
                           ("trace/save.h", "google/protobuf/message.h"), ("nn/a.cc", "CLI/CLI.hpp"),
                           ("lib/base/a.h", "boost/foo.hpp")]:
            with self.subTest(path=path, name=name):
                if path == "lib/ops/a.cc":
                    self.add("lib/ops/meson.build", "op_sources = files('a.cc', 'math.cc')\n")
                once = "#pragma once\n\n" if path.endswith(".h") else ""
                self.fires("third-party", path, once + f"#include <{name}>\n", line=3 if once else 1)
        for path, name in [("device/cpu/a.cc", "xtensor/xarray.hpp"), ("device/cpu/a.cc", "dnnl.hpp"),
                           ("device/cuda/a.cc", "cublas_v2.h"), ("trace/a.cc", "google/protobuf/message.h")]:
            with self.subTest(path=path, name=name):
                self.quiet(path, f"#include <{name}>\n")

    def test_public_headers_are_light_also_indirectly(self):
        self.add("lib/meson.build", "public_header_folders += ['lib/graph']\n")
        self.add("lib/graph/inner.h", "#pragma once\n\n#include <google/protobuf/message.h>\n")
        self.fires("third-party", "lib/graph/graph.h", '#pragma once\n\n#include "panto/lib/graph/inner.h"\n', line=3)
        self.add("lib/meson.build", "public_headers += [\n  'lib/graph/other.h',\n]\n")
        self.quiet("lib/graph/graph.h", '#pragma once\n\n#include "panto/lib/graph/inner.h"\n')

    def test_op_names(self):
        function = "bool f() {{ return {}; }}\n"
        for text in ['op.name() == "MatMul"', '"MatMul" == name', 'node.op() != "OldMatMul"', 'node->op() == "Switch"',
                     'op->name() == "Switch"', 'node.op().name() == "Switch"', 'x == &kMatMul', '&op == &kMatMul',
                     'op_name == "Switch"']:
            with self.subTest(text=text):
                self.fires("op-names", "lib/runtime/a.cc", function.format(text))
        for text in ['name == "x"', 'op.has(Trait::kElementwise)', 'device.name() == "cpu"', 'kind == kHost']:
            with self.subTest(text=text):
                self.quiet("lib/runtime/a.cc", function.format(text))
        self.quiet("lib/runtime/a.cc", '// lint: allow(op-names) TensorFlow 1 files\nbool f() { return op_name == "Switch"; }\n')
        self.quiet("tests/a.cc", function.format('op.name() == "MatMul"'))
        self.add("lib/runtime/meson.build", "x = files('passes/fusion_patterns.cc')\n")
        self.quiet("lib/runtime/passes/fusion_patterns.cc", function.format("&op == &kMatMul"))
        self.fires("op-names", "lib/runtime/passes/fusion_patterns.cc", function.format('op.name() == "MatMul"'))

    def test_process_exit(self):
        for call in ["abort()", "std::abort()", "exit(1)", "::exit(1)", "assert(x)", "std::terminate()", "_exit(1)"]:
            with self.subTest(call=call):
                self.fires("process-exit", "nn/a.cc", f"void f(int x) {{ {call}; }}\n")
        self.fires("process-exit", "nn/a.cc", "#include <cassert>\n")
        for call in ["static_assert(true)", "loop.exit(1)", "loop->exit(1)", 'log("abort()")', "kernel_assert(x)"]:
            with self.subTest(call=call):
                self.quiet("nn/a.cc", f"void f(int x) {{ {call}; }}\n")
        self.quiet("nn/a.cc", "// It may call abort() or\n/* exit(1) */\n")
        self.quiet("apps/a.cc", "void f() { exit(1); }\n")

    def test_lengths(self):
        self.quiet("lib/base/a.cc", "int x;\n" * 1000)
        self.fires("file-length", "lib/base/a.cc", "int x;\n" * 1001, line=1001)
        self.quiet("lib/base/a.cc", "// " + "x" * 117 + "\n")
        self.fires("line-length", "lib/base/a.cc", "// " + "x" * 118 + "\n")

    def test_header(self):
        self.fires("header", "lib/base/a.h", "int x;\n")
        self.fires("header", "lib/base/a.h", "#pragma once\n\n#include <iostream>\n", line=3)
        self.fires("header", "lib/core/a.h", "#pragma once\n\nextern thread_local int x;\n", line=3)
        self.add("lib/core/meson.build", "internal_headers += 'lib/core/a.h'\n")
        self.quiet("lib/core/a.h", "#pragma once\n\nextern thread_local int x;\n")
        self.quiet("lib/base/a.h", "#pragma once\n\n// Not <iostream>.\nextern thread_local int x;\n")

    def test_built(self):
        self.assertEqual(self.lint("nn/a.cc", "int x;\n", listed=False), ["1 [built]"])
        self.add("nn/meson.build", "# 'a.cc'\n")
        self.assertEqual(self.lint("nn/a.cc", "int x;\n", listed=False), ["1 [built]"])
        self.add("nn/meson.build", "panto_sources += files(\n  'a.cc',\n)\n")
        self.quiet("nn/a.cc", "int x;\n")

    def test_precompiled(self):
        self.fires("precompiled", "nn/a.cc", "\nstd::map<int, int> m;\n", line=2)
        self.quiet("nn/a.cc", "#include <map>\nstd::map<int, int> m;\n")
        self.add("lib/core/m.h", "#pragma once\n#include <map>\n")
        self.quiet("nn/a.cc", '#include "panto/lib/core/m.h"\nstd::map<int, int> m;\n')

    @unittest.skipUnless(shutil.which("clang-tidy-19"), "clang-tidy-19 is not installed")
    def test_tidy(self):
        """Files of a folder are read as one; where that is no program, apart."""
        shutil.copy(ROOT / ".clang-tidy", self.root)
        build = self.root / "build"
        build.mkdir()
        (build / "panto").symlink_to(self.root)
        fault = "int* {0}() {{ return 0; }}\n"
        texts = {"a": "", "b": "static const int kSame = 1;\n", "c": "static const int kSame = 2;\n", "d": "using long_t = long;\n",
                 "e": "typedef int long_t;\n"}
        entries = []
        for name, text in texts.items():
            self.add(f"nn/{name}.cc", text + fault.format(name))
            entries.append({"directory": str(build), "file": f"../nn/{name}.cc",
                            "command": f"c++ -I. -std=c++20 -MD -MQ x -MF y -o z -c ../nn/{name}.cc"})
        (build / "compile_commands.json").write_text(json.dumps(entries))
        project = lint.Project(self.root)
        findings = lint.check_tidy(project, build, list(project.sources))
        self.assertEqual([(f.path, f.line) for f in findings],
                         [(f"nn/{name}.cc", 1 + len(text.splitlines())) for name, text in texts.items()])
        self.add("nn/a.cc", "int* a() { return nullptr; }\n")
        findings = lint.check_tidy(lint.Project(self.root), build, ["nn/a.cc", "nn/b.cc"])
        self.assertEqual([f.path for f in findings], ["nn/b.cc"])

    def test_strings_and_comments_hide_nothing(self):
        self.fires("process-exit", "nn/a.cc", 'const char* s = "// \\" /*";\nvoid f() { exit(1); }\n', line=2)
        self.fires("process-exit", "nn/a.cc", "int n = 1'000;\nvoid f() { exit(1'000); }\n", line=2)
        self.fires("process-exit", "nn/a.cc", 'auto s = R"(" // )";\nvoid f() { exit(1); }\n', line=2)

    def test_the_project_keeps_its_architecture(self):
        project = lint.Project(ROOT)
        results = lint.check_rules(project, list(project.sources))
        for rule in ["include-form", "include-direction", "third-party", "op-names", "process-exit"]:
            with self.subTest(rule=rule):
                self.assertEqual([str(finding) for finding in results[rule]], [])


if __name__ == "__main__":
    unittest.main()
