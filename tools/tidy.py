"""clang-tidy over a project's files, several at a time.

Most of its time goes into headers, which the files share: those that are compiled alike are read as one unit, as if one
included the others. Where that is no program (two have a constant of one name), the files in which clang says so are
read apart.
"""
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess

FILES_OF_UNIT = 12
# Names that a file defines at the left margin: classes, functions, constants.
DEFINED = re.compile(
    r"^(?!#|//|namespace\b|template\b|using namespace\b)(?:(?:struct|class|enum|enum class|using) (\w+)|\S[^(={\n]*?(?<!::)\b(\w+)(?:\[\w*\])? ?[(={])",
    re.MULTILINE)


def units_of(root, paths):
    """The files in groups of which no two define one name."""
    units = []
    for path in paths:
        names = {a or b for a, b in DEFINED.findall((root / path).read_text(errors="replace"))}
        for unit, taken in units:
            if len(unit) < FILES_OF_UNIT and not names & taken:
                unit.append(path)
                taken |= names
                break
        else:
            units.append(([path], names))
    return [unit for unit, _ in units]


class Tidy:
    def __init__(self, root, build):
        self.root, self.build = root, build
        self.cache = build / "lint-cache"
        (self.cache / "units").mkdir(parents=True, exist_ok=True)
        self.commands = self.read_commands()
        config = root / ".clang-tidy"
        gcc_headers = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True).stdout.strip()
        self.options = ["--quiet", f"--config-file={config}"]
        # <omp.h> is g++'s, with a form of an attribute that clang does not know.
        self.extra = ["-Wno-unknown-warning-option", "-Wno-error", f"-idirafter{gcc_headers}", "-D__malloc__(...)=__malloc__"]
        version = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, text=True).stdout
        self.base = hashlib.sha256((version + config.read_text() + repr(self.extra)).encode())

    def read_commands(self):
        """{path of a file from the root: the options that it is compiled with}"""
        commands = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            if not words[-2] == "-c":
                continue
            options, skip = [], 0
            for word in words[1 if words[0] != "ccache" else 2:-2]:
                if skip or word in ("-include", "-MQ", "-MF", "-o"):  # g++'s precompiled headers mean nothing to clang
                    skip = 0 if skip else 1
                elif not re.match(r"-fpch-preprocess|-fvect-cost-model=|-MD$|-I\S+\.p$", word):
                    options.append(word)
            path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
            commands[os.path.relpath(path, self.root)] = options
        return commands

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

    def look_at(self, paths, known):
        """Findings in files that are compiled alike."""
        if not paths:
            return set()
        options = self.commands[paths[0]]
        if len(paths) == 1:
            found, status, output = self.run(str(self.root / paths[0]), options)
            found = {finding for finding in found if finding[0] in known}  # not in generated headers
            return {(paths[0], 1, output)} if status != 0 and not found else found
        text = "".join(f'#include "panto/{path}"  // NOLINT\n' for path in paths)
        unit = self.cache / "units" / (hashlib.sha256(text.encode()).hexdigest()[:16] + ".cc")
        unit.write_text(text)
        found, status, _ = self.run(str(unit), options)
        if status == 0:
            return set()
        apart = [p for p in paths if any(f[0] == p and "[clang-diagnostic-error" in f[2] for f in found)]
        if not apart and any("[clang-diagnostic-error" in f[2] for f in found):
            apart = paths[len(paths) // 2:]
        if apart or not found:
            apart = apart if 0 < len(apart) < len(paths) else paths[len(paths) // 2:]
            return self.look_at([p for p in paths if p not in apart], known) | self.look_at(apart, known)
        return {finding for finding in found if finding[0] in known}

    def check(self, paths, known, texts_of):
        """Findings, as (path, line, message), about the files of `paths`, in these and in headers among `known`. A file
        that was fine is not looked at again until what it is made of (`texts_of(path)`, bytes), its options or the checks
        change."""
        marks, groups = {}, collections.defaultdict(list)
        for path in paths:
            key = self.base.copy()
            key.update(repr(self.commands[path]).encode())
            for text in texts_of(path):
                key.update(text)
            marks[path] = self.cache / key.hexdigest()
            if marks[path].exists():
                marks[path].touch()
            else:
                groups[tuple(self.commands[path])].append(path)
        units = [unit for group in groups.values() for unit in units_of(self.root, group)]

        def one(unit):
            found = self.look_at(unit, known)
            if not found:
                for path in unit:
                    marks[path].touch()
            return found

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return set().union(*pool.map(one, sorted(units, key=len, reverse=True)))
