"""A temporary place with what `meson install` puts there, for the tests beside this file."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", ROOT / "build" / "release"))


def run(*command, **keywords):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **keywords)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nended with {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class InstalledCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stage = pathlib.Path(tempfile.mkdtemp()).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.stage)
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--strip", "--destdir", cls.stage)
        (config,) = cls.stage.rglob("panto.pc")
        cls.prefix = config.parents[2]  # from lib/pkgconfig
        cls.environment = os.environ | {"PKG_CONFIG_PATH": str(config.parent)}
        cls.libdir = config.parent.parent

    def flags(self, *what):
        return run("pkg-config", *what, "panto", env=self.environment).split()

    def build_and_run(self, sources, *flags):
        """What a program made of `sources` (text, or files) prints."""
        with tempfile.TemporaryDirectory() as folder:
            folder, objects = pathlib.Path(folder), []
            for i, source in enumerate(sources):
                file = folder / f"source_{i}.cc"
                file.write_text(source if isinstance(source, str) else source.read_text())
                objects.append(file.with_suffix(".o"))
                run("g++", "-std=c++20", "-c", file, "-o", objects[-1], *flags, *self.flags("--cflags"))
            run("g++", *objects, "-o", folder / "program", *self.flags("--libs"))
            environment = self.environment | {"LD_LIBRARY_PATH": str(self.libdir)}
            return run(folder / "program", env=environment, cwd=folder)

    def lines_to_compile(self, source):
        """How many lines of code a compiler reads of `source` and of all that it includes."""
        text = run("g++", "-std=c++20", "-E", "-P", "-x", "c++", "-", *self.flags("--cflags"), input=source)
        return text.count("\n")
