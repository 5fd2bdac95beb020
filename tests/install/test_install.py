"""What `meson install` gives a user: headers, library, panto.pc and the command, tried from a temporary place."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from installed import BUILD, ROOT, InstalledCase, run


class InstallTest(InstalledCase):
    def test_panto_pc_points_into_the_prefix(self):
        (include,) = (os.path.realpath(f[2:]) for f in self.flags("--cflags") if f.startswith("-I"))
        self.assertEqual(include, str(self.prefix / "include"))
        self.assertIn("-lpanto", self.flags("--libs"))
        self.assertEqual(self.flags("--modversion"), ["0.1.0"])

    def test_the_smallest_program(self):
        program = "#include <panto/panto.h>\n#include <cstdio>\nint main() { std::puts(\"ok\"); }\n"
        self.assertEqual(self.build_and_run([program]), "ok\n")

    def cmake_project(self, folder, version="0.1"):
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.20)\nproject(user CXX)\n"
            f"find_package(panto {version} REQUIRED)\nfind_package(panto REQUIRED)\n"  # twice: several parts may ask
            "add_executable(program program.cc)\ntarget_link_libraries(program PRIVATE panto::panto)\n")
        (folder / "program.cc").write_text(
            "#include <panto/panto.h>\n#include <iostream>\n"
            "int main() { std::cout << panto::sum(panto::tensor({1.f, 2.f})) << '\\n'; }\n")
        # Ninja is there, make need not be.
        return ["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release",
                f"-DCMAKE_PREFIX_PATH={self.prefix}"]

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_a_cmake_project_finds_it(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            run(*self.cmake_project(folder))
            run("cmake", "--build", folder / "build")
            # No LD_LIBRARY_PATH: CMake writes down where the library lies.
            environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
            self.assertEqual(run(folder / "build" / "program", env=environment), "3.0\n")

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_cmake_refuses_another_version(self):
        for version in ("0.2", "1.0"):
            with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(AssertionError, "0.1.0"):
                run(*self.cmake_project(pathlib.Path(folder), version))

    def test_headers_are_below_include_panto(self):
        headers = [p.relative_to(self.stage) for p in self.stage.rglob("*") if p.suffix in (".h", ".hpp", ".hh", ".inc")]
        self.assertTrue(headers)
        inside = self.prefix.relative_to(self.stage) / "include" / "panto"
        self.assertEqual([str(h) for h in headers if not h.is_relative_to(inside)], [])
        self.assertEqual([str(h) for h in headers if h.name.endswith(".pb.h")], [])
        self.assertEqual([p.name for p in (self.prefix / "include").iterdir()], ["panto"])

    def test_typed_functions_have_doc_comments(self):
        """Those of the build itself have none."""
        header = (self.prefix / "include" / "panto" / "ops" / "math.h").read_text()
        comment, _, _ = header.partition("Tensor matmul(")
        self.assertIn("\n// Matrix product of `a` [m, k] and `b` [k, n]", comment)
        self.assertNotIn("// Matrix product of", (BUILD / "lib" / "ops" / "math.h").read_text())

    def test_what_headers_include_is_installed_too(self):
        include = self.prefix / "include"
        lacking = []
        for header in sorted(include.rglob("*.h")):
            for name in re.findall(r'^\s*#\s*include\s*[<"](panto/[^">]+)', header.read_text(), re.MULTILINE):
                if not (include / name).exists():
                    lacking.append(f"{header.relative_to(include)} includes {name}")
        self.assertEqual(lacking, [])

    def test_each_header_compiles_alone(self):
        """With the warnings that a careful user may have switched on."""
        headers = sorted((self.prefix / "include").rglob("*.h"))
        headers = [h for h in headers if h.name != "xtensor.h"]  # the opt-in bridge needs xtensor
        flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Werror", *self.flags("--cflags")]
        if not os.environ.get("PANTO_SLOW"):  # all in one, which is quick
            text = "".join(f"#include <{h.relative_to(self.prefix / 'include')}>\n" for h in headers)
            run("g++", *flags, "-x", "c++", "-", input=text)
            return

        def alone(header):
            run("g++", *flags, "-x", "c++", "-", input=f"#include <{header.relative_to(self.prefix / 'include')}>\n")

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = [(header, pool.submit(alone, header)) for header in headers]
        for header, result in results:
            with self.subTest(header=header.name):
                result.result()

    def test_the_library_is_small(self):
        """The budget of the library as it is installed, with every op in every type: 30 MB."""
        (library,) = (p for p in self.libdir.glob("libpanto.so.*") if not p.is_symlink())
        self.assertLess(library.stat().st_size, 30_000_000)

    def test_the_library_exports_only_its_own_names(self):
        (library,) = (p for p in self.libdir.glob("libpanto.so.*") if not p.is_symlink())
        symbols = run("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines()
        strong = [s.split(" ", 2)[2] for s in symbols if s.split(" ", 2)[1] in "TDBR"]
        self.assertTrue(strong)
        self.assertEqual([s for s in strong if "panto" not in s], [])

    def test_the_generator_is_installed(self):
        """With the program that reads signatures for it, which it finds wherever both lie."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "op.cc").write_text('const Op& kOp = define_op("MyOp(x: T; T: real) -> (y: T)", {});\n')
            run(sys.executable, self.prefix / "share" / "panto" / "generate.py", "--namespace", "my_ops", "--no-export",
                "--header", "op.h", "--source", "op_functions.cc", "op.cc", cwd=folder)
            self.assertIn("\nTensor my_op(Arg x);\n", (folder / "op.h").read_text())
        self.assertTrue((self.prefix / "include" / "panto" / "ops" / "math.h").exists())

    def test_a_users_own_back_end(self):
        """Built as docs/add-a-device.md says; then every row of the op table is asked on its device."""
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "libnpu.so"
            run("g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden",
                ROOT / "tests" / "device" / "npu" / "npu.cc", "-o", library, *self.flags("--cflags", "--libs"))
            environment = os.environ | {"PANTO_TEST_LIBRARY": str(library), "PANTO_TEST_DEVICE": "NPU:0"}
            said = run(BUILD / "tests" / "panto_tests", "--run_test=on_device", "--report_level=short",
                       "--report_sink=stdout", env=environment)
            self.assertGreater(int(re.search(r"(\d+) test cases? out of \d+ passed", said)[1]), 100, said)

    def test_the_command_runs_from_there(self):
        command = self.prefix / "bin" / "panto"
        if not (BUILD / "apps" / "panto").exists():
            self.skipTest("the panto command does not exist yet")
        environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        self.assertIn("run", run(command, "--help", env=environment))


if __name__ == "__main__":
    unittest.main()
