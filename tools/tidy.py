"""clang-tidy over a project's files, several at a time.

Most of its time goes into headers, which the files share: those that are compiled alike are read as one unit, as if one
included the others. Where that is no program (two have a constant of one name), the files in which clang says so are
read apart.
"""
import collections
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

import units

FILES_OF_UNIT = 24


class Tidy:
    """Of the files of a build folder. `known`: the paths from the root that findings may be about, no generated ones."""

    def __init__(self, root, build, known):
        self.root, self.build, self.known = root, build, known
        self.cache = build / "lint-cache"
        (self.cache / "units").mkdir(parents=True, exist_ok=True)
        self.commands = self.read_commands()
        self.marks = {}  # by path: the file that is there if all was fine with it as it is
        config = root / ".clang-tidy"
        gcc_headers = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True).stdout.strip()
        self.options = ["--quiet", f"--config-file={config}"]
        # <omp.h> is g++'s, with a form of an attribute that clang does not know.
        self.extra = ["-Wno-unknown-warning-option", "-Wno-error", f"-idirafter{gcc_headers}",
                      "-D__malloc__(...)=__malloc__"]
        self.config = config.read_text()

    @functools.cached_property
    def base(self):
        """What every finding depends on. Asks clang-tidy, which need not be there to read commands."""
        version = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, text=True, check=True).stdout
        return hashlib.sha256((version + self.config + repr(self.extra)).encode())

    def read_commands(self):
        """{path of a file from the root: the options that it is compiled with}"""
        commands = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            if words[-2] != "-c":
                continue
            words = iter(words[2 if words[0] == "ccache" else 1:-2])
            options = []
            for word in words:
                if word in ("-include", "-MQ", "-MF", "-o"):  # g++'s precompiled headers mean nothing to clang
                    next(words)
                elif not re.match(r"-fpch-preprocess|-fvect-cost-model=|-MD$|-I\S+\.p$", word):
                    options.append(word)
            path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
            for file in self.files_in(pathlib.Path(path)):
                commands[os.path.relpath(file, self.root)] = options
        return commands

    def files_in(self, source):
        """What a unit of the build (-Dunit_files) is made of; else the file itself."""
        table = source.parent / "units.json"
        if not source.name.startswith("unit-") or not table.exists():
            return [source]
        return [self.root / path for path in json.loads(table.read_text())[source.name]]

    def run(self, file, options):
        """The lines `path:line: message` about it, as (path from the root, line, message), and clang-tidy's exit status
        with all that it wrote."""
        result = subprocess.run(["clang-tidy-19", *self.options, file, "--", *options, *self.extra], cwd=self.build,
                                capture_output=True, text=True)
        found = set()
        for m in re.finditer(r"^(.+?):(\d+):\d+: (?:warning|error): (.*)$", result.stdout, re.MULTILINE):
            where = os.path.relpath(os.path.realpath(os.path.join(self.build, m[1])), self.root)
            found.add((where, int(m[2]), m[3].replace(",-warnings-as-errors", "")))
        return found, result.returncode, (result.stdout + result.stderr).strip()

    def look_at(self, paths):
        """Findings, as (path, line, message), in files that are compiled alike and in the headers that they include."""
        options = self.commands[paths[0]]
        if len(paths) == 1:
            found, status, output = self.run(str(self.root / paths[0]), options)
            found = {finding for finding in found if finding[0] in self.known}
            return {(paths[0], 1, output)} if status != 0 and not found else found
        text = "".join(f'#include "panto/{path}"  // NOLINT\n' for path in paths)
        unit = self.cache / "units" / (hashlib.sha256(text.encode()).hexdigest()[:16] + ".cc")
        unit.write_text(text)
        found, status, _ = self.run(str(unit), options)
        if status == 0:
            return set()
        errors = {where for where, _, message in found if "[clang-diagnostic-error" in message}
        found = {finding for finding in found if finding[0] in self.known}
        if found and not errors:
            return found
        apart = [path for path in paths if path in errors]
        if not 0 < len(apart) < len(paths):
            apart = paths[len(paths) // 2:]
        return self.look_at([path for path in paths if path not in apart]) | self.look_at(apart)

    def units(self, paths, texts_of):
        """The files to look at, in units, the largest first. A file that was fine is not among them until what it is made
        of (`texts_of(path)`, bytes), its options or the checks change."""
        groups = collections.defaultdict(list)
        for path in paths:
            key = self.base.copy()
            key.update(repr(self.commands[path]).encode())
            for text in texts_of(path):
                key.update(text)
            self.marks[path] = self.cache / key.hexdigest()
            if self.marks[path].exists():
                self.marks[path].touch()
            else:
                groups[tuple(self.commands[path])].append(path)
        together = [unit for group in groups.values()
                    for unit in units.units_of(self.root, group, FILES_OF_UNIT, to_run=False)]
        return sorted(together, key=len, reverse=True)

    def check(self, unit):
        """Findings in one of them; if there are none, its files are marked."""
        found = self.look_at(unit)
        if not found:
            for path in unit:
                self.marks[path].touch()
        return found
