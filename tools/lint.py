#!/usr/bin/env python3
"""Checks what a compiler does not: layout, clang-tidy, and the rules of this project's architecture.

lint.py --build BUILD [FILE...]

Each finding is one line `file:line: message [rule]`; the last line counts the rules: `N passed, N failed`. A line that
must break a rule of ours says so, on itself or on the line before: `// lint: allow(op-names) why it must`.
clang-tidy has its own `// NOLINT(check)`.

  format            clang-format-19 would change the file
  tidy              clang-tidy-19, with the checks of .clang-tidy
  include-form      project headers are included by their full name, "panto/lib/core/tensor/tensor.h"
  include-direction who may include whom (the arrows of docs/architecture.md)
  third-party       which folders may see which libraries; public headers see none of the heavy ones, even indirectly
  op-names          code outside lib/ops compares no op names: ask for a trait
  process-exit      library code throws; it does not end the process
  file-length       at most 1,000 lines (over 500 is a warning)
  line-length       at most 120 columns, comments too
  header            headers have #pragma once; no <iostream> in them, and in public ones no thread_local or call_once
  built             every source file is in a list of a meson.build
  precompiled       a source file includes what it uses of the headers that are precompiled, itself or by way of ours
"""
import argparse
import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys

import tidy

MAX_LINES, WARN_LINES, MAX_COLUMNS = 1000, 500, 120
CPP_SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
FOLDERS = ["lib", "device", "autograd", "trace", "nn", "apps", "tests", "benchmarks"]
LIBRARY = ("lib/", "device/", "autograd/", "trace/", "nn/")

# A layer is the longest of these prefixes; what it may include besides itself.
LIB = ["lib/base", "lib/core", "lib/ops", "lib/graph", "lib/runtime"]
EVERYTHING = LIB + ["device", "autograd", "trace", "nn", "apps", "tests", "benchmarks", "."]
MAY_INCLUDE = {layer: LIB[:i] for i, layer in enumerate(LIB)} | {
    "device": LIB,
    "autograd": LIB,
    "trace": LIB + ["autograd"],
    "nn": LIB + ["autograd", "trace"],
    "apps": EVERYTHING,
    "tests": EVERYTHING,
    "benchmarks": EVERYTHING,
    ".": EVERYTHING,  # panto.h and panto/xtensor.h
}

# Library: what its headers look like, and the paths (as expressions) that may include them.
PROGRAMS = r"(apps|tests|benchmarks)/"
THIRD_PARTY = {
    "xtensor": (r"(xtensor|xtensor-blas|xtl|xsimd)/", rf"device/|xtensor\.h$|{PROGRAMS}"),
    "oneDNN": (r"(oneapi/)?dnnl", rf"device/|{PROGRAMS}"),
    "BLAS": (r"(cblas|lapacke|openblas|f77blas)", rf"device/|{PROGRAMS}"),
    "CUDA": (r"(cuda|cublas|cudnn|curand|cusolver|cusparse|nvrtc|nccl|nvtx|cooperative_groups|cub/|thrust/)",
             rf"device/cuda/|tests/|benchmarks/"),
    "protobuf": (r"(google/protobuf/|panto/lib/graph/proto/)",
                 rf"lib/graph/|lib/runtime/.*\.cc$|trace/.*\.cc$|(apps|tests|benchmarks)/.*"),
    "JSON": (r"nlohmann/",
             r"lib/core/io/safetensors\.cc$|lib/runtime/placement/cost_model\.cc$|"
             rf"nn/summaries/profile_table\.cc$|{PROGRAMS}"),  # slow to compile
    "libpng": (r"png(conf)?\.h$", r"lib/core/media/png\.cc$"),
    "libjpeg": (r"j(peglib|error|config|morecfg)\.h$", r"lib/core/media/jpeg\.cc$"),
    "giflib": (r"gif_lib\.h$", r"lib/core/media/gif\.cc$"),
    "RE2": (r"re2/", r"device/cpu/strings/regex\.cc$"),
    "FarmHash": (r"farmhash\.h$", r"device/cpu/strings/hash\.cc$"),
    "ICU": (r"unicode/", r"device/cpu/strings/(case|unicode)\.cc$"),
    "Snappy": (r"snappy", r"lib/graph/checkpoints/table\.cc$"),
    "CLI11": (r"CLI/", r"apps/|tests/"),
    "Boost": (r"boost/", r"tests/|lib/.*\.cc$|device/cpu/special/"),
    "Google Benchmark": (r"benchmark/", r"benchmarks/"),
}
HEAVY = ["xtensor", "oneDNN", "BLAS", "CUDA", "protobuf"]
FUSION_PATTERNS = re.compile(r"lib/runtime/passes/\w+_patterns\.")


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str
    rule: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message} [{self.rule}]"


TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      |(?P<raw>R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")
      |(?P<string>"(?:\\.|[^"\\\n])*")
      |(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


class Source:
    """A file of the project: its text, and the text without comments, and without comments and strings."""

    def __init__(self, root, path):
        self.root, self.path = root, path
        self.text = (root / path).read_text(errors="replace")
        self.lines = self.text.splitlines()

    @functools.cached_property
    def no_comments(self):
        return TOKEN.sub(lambda m: blank(m.group()) if m.group("comment") else m.group(), self.text).splitlines()

    @functools.cached_property
    def code(self):
        """Strings are reduced to their quotes, so that includes and calls are found in code only."""
        def replace(m):
            if m.group("comment"):
                return blank(m.group())
            return '"' + blank(m.group()[1:-1]) + '"'
        return TOKEN.sub(replace, self.text).splitlines()

    @functools.cached_property
    def includes(self):
        """(line number, '"' or '<', name)"""
        found = []
        for number, line in enumerate(self.no_comments, 1):
            if m := re.match(r'\s*#\s*include\s*(["<])([^">]+)', line):
                found.append((number, m[1], m[2]))
        return found

    def allows(self, line, rule):
        around = self.lines[max(0, line - 2):line]
        return any(f"lint: allow({rule})" in text for text in around)


def is_session(path):
    """What is typed at the prompt: statements and values without a function around them, which no C++ tool reads."""
    return path.parent.name in ("sessions", "habits") or path.parts[-3:] == ("apps", "repl", "tour.cc")


class Project:
    def __init__(self, root):
        self.root = root
        self.sources = {}
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*")):
                if path.suffix in CPP_SUFFIXES and path.is_file() and not is_session(path):
                    self.add(path)
        for path in sorted(root.glob("*.h")):
            self.add(path)

    def add(self, path):
        name = path.relative_to(self.root).as_posix()
        self.sources[name] = Source(self.root, name)

    @functools.cached_property
    def op_names(self):
        """Registered op names and the C++ names of their objects, read from the blocks."""
        names, objects = set(), set()
        for path in sorted((self.root / "lib" / "ops").rglob("*.cc")):
            text = path.read_text(errors="replace")
            names.update(re.findall(r'define_op\(\s*"(\w+)\(', text))
            objects.update(re.findall(r"const Op& (k\w+)\s*=", text))
            for aliases in re.findall(r"\.aliases = \{([^}]*)\}", text):
                names.update(re.findall(r'"(\w+)"', aliases))
        return names, objects

    @functools.cached_property
    def public_headers(self):
        """What the meson.build files install."""
        headers, internal = set(), set()
        for path in sorted(self.root.rglob("meson.build")):
            if "build" in path.relative_to(self.root).parts[:-1]:
                continue
            text = re.sub(r"#.*", "", path.read_text())
            for kind, value in re.findall(r"(\w+) \+= (\[[^\]]*\]|'[^']*')", text):
                names = re.findall(r"'([^']+)'", value)
                if kind == "public_header_folders":
                    headers.update(p.relative_to(self.root).as_posix() for n in names for p in (self.root / n).glob("*.h"))
                elif kind == "public_headers":
                    headers.update(n for n in names if n in self.sources)
                elif kind == "internal_headers":
                    internal.update(names)
        headers -= internal
        return headers


def layer_of(path):
    if path.startswith("ops/"):  # generated: panto/ops/math.h
        return "lib/ops"
    matches = [layer for layer in MAY_INCLUDE if path.startswith(layer + "/")]
    return max(matches, key=len, default=".")


@functools.cache
def reachable(project, path):
    """The project files that a source is compiled from, itself included, and all names it includes."""
    files, names, todo = {path}, set(), [path]
    while todo:
        for _, _, name in project.sources[todo.pop()].includes:
            names.add(name)
            inner = name.removeprefix("panto/")
            if name.startswith("panto/") and inner in project.sources and inner not in files:
                files.add(inner)
                todo.append(inner)
    return files, names


# --- our rules: each takes a project and one of its sources and yields (line, message) ---


def include_form(project, source):
    for line, quote, name in source.includes:
        if quote == '"' and not name.startswith("panto/"):
            yield line, f'expected "panto/<path from the source root>", got "{name}"'
        elif quote == "<" and name.startswith("panto/") and layer_of(source.path) not in ("apps", "tests", "benchmarks"):
            yield line, f'expected "{name}" in quotes inside the library'
        elif name.startswith("panto/") and ".." in name:
            yield line, f'expected a path without "..", got "{name}"'


def include_direction(project, source):
    layer = layer_of(source.path)
    for line, _, name in source.includes:
        if not name.startswith("panto/"):
            continue
        target = layer_of(name.removeprefix("panto/"))
        if target != layer and target not in MAY_INCLUDE[layer]:
            what = f"{target}/" if target != "." else "umbrella headers"
            yield line, f"{layer}/ may not include {what}: {name}"


def heavy_through(project, path, seen):
    """The first heavy library that a header reaches, as (line in it, library, by way of)."""
    for line, _, name in project.sources[path].includes:
        for library in HEAVY:
            if re.match(THIRD_PARTY[library][0], name):
                return line, library, name
        inner = name.removeprefix("panto/")
        if name.startswith("panto/") and inner in project.sources and inner not in seen:
            seen.add(inner)
            if found := heavy_through(project, inner, seen):
                return line, found[1], name
    return None


def third_party(project, source):
    for line, _, name in source.includes:
        for library, (headers, allowed) in THIRD_PARTY.items():
            if re.match(headers, name) and not re.match(allowed, source.path):
                yield line, f"{library} may not be included here: {name}"
    if source.path in project.public_headers and source.path != "xtensor.h":  # the opt-in bridge
        if found := heavy_through(project, source.path, {source.path}):
            line, library, name = found
            yield line, f"a public header reaches {library} by way of {name}"


def op_names(project, source):
    if not source.path.startswith(LIBRARY + ("apps/",)) or source.path.startswith("lib/ops/"):
        return
    names, objects = project.op_names
    asks = r"\b(?:op|op_name|op_type|type_string)\(\)(?:(?:\.|->)name\(\)?)?|\bop\w*(?:\.|->)name\(\)|\bop_name\b|\bop_type\b"
    literal = r'"(\w+)"(?:s|sv)?'
    for number, line in enumerate(source.no_comments, 1):
        compared = re.findall(rf"[=!]=\s*{literal}|{literal}\s*[=!]=", line)
        for name in (a or b for a, b in compared):
            if name in names:
                yield number, f'"{name}" is an op: ask for a trait instead of comparing names'
            elif re.search(rf"(?:{asks})\s*[=!]=\s*\"{name}\"|\"{name}\"(?:s|sv)?\s*[=!]=\s*[^;]*(?:{asks})", line):
                yield number, f'an op\'s name is compared with "{name}": ask for a trait'
        if FUSION_PATTERNS.match(source.path):
            continue
        for name in re.findall(r"[=!]=\s*&?(k[A-Z]\w*)\b|&(k[A-Z]\w*)\s*[=!]=", line):
            name = name[0] or name[1]
            if name in objects:
                yield number, f"an op is compared with {name}: ask for a trait (only fusion patterns name ops)"


def process_exit(project, source):
    if not source.path.startswith(LIBRARY):
        return
    call = re.compile(r"(?<![\w.>:])(?:std\s*::\s*|::\s*)?(abort|exit|_exit|_Exit|quick_exit|terminate|assert)\s*\(")
    for number, line in enumerate(source.code, 1):
        for m in call.finditer(line):
            yield number, f"library code throws panto::Error; {m[1]}() ends the user's process"
        if re.match(r"\s*#\s*include\s*<(cassert|assert\.h)>", line):
            yield number, "library code throws panto::Error; assert() ends the user's process"


def file_length(project, source):
    if len(source.lines) > MAX_LINES:
        yield len(source.lines), f"{len(source.lines)} lines, at most {MAX_LINES}: split it"


def line_length(project, source):
    for number, line in enumerate(source.lines, 1):
        if len(line) > MAX_COLUMNS:
            yield number, f"{len(line)} columns, at most {MAX_COLUMNS}"


def header(project, source):
    if not source.path.endswith(".h"):
        return
    precompiled = "/pch/" in source.path  # g++ sees these as main files
    if not precompiled and not re.search(r"^#pragma once$", source.text, re.MULTILINE):
        yield 1, "a header begins with #pragma once"
    for line, _, name in source.includes:
        if name == "iostream":
            yield line, "<iostream> costs every includer a static constructor: use <iosfwd> or <ostream>"
    if source.path in project.public_headers:
        for number, line in enumerate(source.code, 1):
            if m := re.search(r"\b(thread_local|call_once)\b", line):
                yield number, f"{m[1]} in a public header: move it into the .cc"


def built(project, source):
    path = pathlib.PurePosixPath(source.path)
    if path.suffix not in (".cc", ".cu"):
        return
    for folder in path.parents:
        build = project.root / folder / "meson.build"
        if build.exists():
            text = re.sub(r"#.*", "", build.read_text())
            name = path.relative_to(folder)
            if f"'{name}'" in text or f"'{name.stem}'" in text:
                return
    yield 1, f"no meson.build lists this file: add '{path.name}' to {path.parent}/meson.build"


# Of precompiled headers: what shows that a file uses one.
PRECOMPILED = {
    "fmt/format.h": r"fmt::\w",
    "algorithm": r"std::(?:ranges::)?(?:all_of|any_of|clamp|copy|copy_n|count|count_if|equal|fill|fill_n|find|find_if|"
                 r"generate|is_sorted|lower_bound|max|max_element|min|min_element|minmax|none_of|nth_element|partition|"
                 r"remove_if|replace|reverse|rotate|sort|stable_sort|transform|unique|upper_bound)\(",
    "cstdint": r"u?int(?:8|16|32|64)_t\b",
    "functional": r"std::(?:function|hash|multiplies|plus|ref|cref)\b",
    "map": r"std::(?:multi)?map\b",
    "memory": r"std::(?:unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this)\b",
    "mutex": r"std::(?:mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once)\b",
    "optional": r"std::(?:optional|nullopt)\b",
    "span": r"std::span\b",
    "string": r"std::(?:string|to_string)\b",
    "string_view": r"std::string_view\b",
    "unordered_map": r"std::unordered_map\b",
    "vector": r"std::vector\b",
    "boost/test/unit_test.hpp": r"BOOST_(?:AUTO_)?TEST",
}


def precompiled(project, source):
    if not source.path.endswith(".cc"):
        return
    names = reachable(project, source.path)[1]
    code = "\n".join(source.code)
    for header, use in PRECOMPILED.items():
        if header in names or header == "fmt/format.h" and any(name.startswith("fmt/") for name in names):
            continue
        if m := re.search(rf"(?<![\w:.>]){use}", code):
            yield code.count("\n", 0, m.start()) + 1, f"{m[0].rstrip('(')} is declared in {header}: include it"


RULES = {
    "include-form": include_form,
    "include-direction": include_direction,
    "third-party": third_party,
    "op-names": op_names,
    "process-exit": process_exit,
    "file-length": file_length,
    "line-length": line_length,
    "header": header,
    "built": built,
    "precompiled": precompiled,
}


def check_rules(project, paths):
    """{rule: findings}"""
    results = {rule: [] for rule in RULES}
    for path in paths:
        source = project.sources[path]
        for rule, check in RULES.items():
            for line, message in check(project, source):
                if not source.allows(line, rule):
                    results[rule].append(Finding(path, line, message, rule))
    return results


# --- clang's tools ---


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [f for findings in pool.map(work, items) for f in findings]


def check_format(project, paths):
    def one(batch):
        result = subprocess.run(["clang-format-19", "--dry-run", *batch], cwd=project.root, capture_output=True, text=True)
        findings = []
        for m in re.finditer(r"^(.+?):(\d+):\d+: (?:warning|error): (.*)$", result.stderr, re.MULTILINE):
            # One finding a file: ./dev format repairs all of it.
            if not findings or findings[-1].path != m[1]:
                findings.append(Finding(m[1], int(m[2]), "not in the project's layout: ./dev format puts it right", "format"))
        if result.returncode != 0 and not findings:
            findings.append(Finding(batch[0], 1, result.stderr.strip(), "format"))
        return findings
    paths = sorted(paths)
    return in_parallel(one, [paths[i:i + 16] for i in range(0, len(paths), 16)])


def check_tidy(project, build, paths):
    """clang-tidy over the library's .cc files."""
    clang = tidy.Tidy(project.root, build, project.sources)

    def chosen(path):
        if not (path.endswith(".cc") and path.startswith(LIBRARY + ("apps/",)) and path in clang.commands):
            return False
        return not any(re.match(THIRD_PARTY["xtensor"][0], name)  # xtensor 0.24 does not compile under clang 19
                       for name in reachable(project, path)[1])

    def texts_of(path):
        files, names = reachable(project, path)
        for name in sorted(files):
            yield name.encode() + b"\0" + project.sources[name].text.encode()
        for name in sorted(names):
            generated = build / "lib" / "ops" / name.removeprefix("panto/ops/")
            if name.startswith("panto/ops/") and generated.exists():
                yield generated.read_bytes()

    units = clang.units([p for p in sorted(paths) if chosen(p)], texts_of)
    return [Finding(*finding, "tidy") for finding in sorted(set(in_parallel(clang.check, units)))]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--build", type=pathlib.Path, help="a configured build folder; without it clang-tidy is left out")
    parser.add_argument("--list-format-files", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_intermixed_args()
    root = options.root.resolve()
    project = Project(root)
    if options.list_format_files:
        print("\n".join(project.sources))
        return 0

    paths = list(project.sources)
    if options.files:
        paths = [os.path.relpath(os.path.realpath(f), root) for f in options.files]
        if unknown := [p for p in paths if p not in project.sources]:
            print(f"lint: not a C++ file of the project: {' '.join(unknown)}", file=sys.stderr)
            return 2
    results = check_rules(project, paths)
    results["format"] = check_format(project, paths)
    if options.build:
        results["tidy"] = check_tidy(project, options.build.resolve(), paths)

    long = [(len(s.lines), s.path) for s in map(project.sources.get, paths) if WARN_LINES < len(s.lines) <= MAX_LINES]
    for lines, path in sorted(long, reverse=True):
        print(f"{path}:{lines}: warning: {lines} lines; over {WARN_LINES} is long")
    for findings in results.values():
        for finding in findings:
            print(finding)
    failed = sum(bool(f) for f in results.values())
    passed = len(results) - failed
    skipped = 0 if "tidy" in results else 1
    count = f"{passed} passed, {failed} failed" + (", 1 skipped (clang-tidy, which needs --build)" if skipped else "")
    if tally := os.environ.get("PANTO_TALLY"):  # .ci/run adds up several runs
        with open(tally, "a") as file:
            file.write(f"{passed} {failed} {skipped}\n")
        print(f"lint rules done: {count}")
    else:
        print(count)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
