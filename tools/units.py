#!/usr/bin/env python3
"""Groups of source files that are compiled, or read by clang-tidy, as if one file included them all.

Most of the time that a file takes goes into headers, which the files share.

units.py --size N --root ROOT --out OUT FILE...: writes OUT/unit-N.cc, each of which includes up to so many of the files,
and `OUT/units.json`, {path of a unit from OUT: paths of its files from ROOT}; prints the paths of the units.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import sys

# Names that a file defines at the left margin: classes, functions, constants.
DEFINED = re.compile(
    r"^(?!#|//|namespace\b|template\b|using namespace\b)"
    r"(?:(?:struct|class|enum|enum class|using) (\w+)\b(?!::)|\S[^(={\n]*?(?<!::)\b(\w+)(?:\[\w*\])? ?[(={])",
    re.MULTILINE)
BROUGHT = re.compile(r"^using namespace ([\w:]+);", re.MULTILINE)
# What the function of an op is named after: the op's name without its version, or `.cpp` of its block.
OP_FUNCTION = re.compile(r'\bdefine_op\(\s*"(\w+?)(?:V\d+)?\(|\.cpp = "(\w+)"')
SUITE = re.compile(r"^BOOST_AUTO_TEST_SUITE(?:\((\w+)|_END\()", re.MULTILINE)


class Sources:
    """What files name, as far as units must know."""

    def __init__(self, root):
        self.root = root
        self.texts, self.headers = {}, {}
        self.calling_ops = set()  # files with headers that are generated, and not read here
        self.ops = {(op or cpp).replace("_", "").lower() for file in sorted((root / "lib/ops").rglob("*.cc"))
                    for op, cpp in OP_FUNCTION.findall(self.text(file.relative_to(root)))}

    def text(self, path):
        if path not in self.texts:
            file = self.root / path
            self.texts[path] = file.read_text(errors="replace") if file.exists() else ""  # else it is a generated one
        return self.texts[path]

    def included(self, path):
        return re.findall(r'^#include "panto/([^"]+)"', self.text(path), re.MULTILINE)

    def has_a_namespace(self, path):
        """Whether all that a file defines is in a namespace that bears its name: gru.cc's in gru_rows."""
        inside = re.findall(r"^namespace (\S*::)?(\w+) \{", self.text(path), re.MULTILINE)
        return bool(inside) and all(name.startswith(pathlib.Path(path).stem + "_") for _, name in inside)

    def defined(self, path):
        names = {a or b for a, b in DEFINED.findall(self.text(path))}
        return {name for name in names if not name.startswith("__")}  # __launch_bounds__(256) is no function

    def like_ops(self, names):
        """Those of the names that functions of ops have: broadcast_to, for BroadcastTo."""
        return {name for name in names if name.islower() and name.replace("_", "") in self.ops}

    def called_ops(self, path):
        """The functions of ops that a file may call."""
        self.declared(path)
        return self.like_ops(self.mentioned(path)) if path in self.calling_ops else set()

    def brought(self, path):
        """The namespaces whose names a file uses as its own, and with it the files beside it."""
        return set(BROUGHT.findall(self.text(path)))

    def suites(self, path):
        """Suites of tests, in one another (nn/optimizers): namespaces, which several files may have in common."""
        names, inside = set(), []
        for name in SUITE.findall(self.text(path)):
            if name:
                inside.append(name)
                names.add("/".join(inside))
            else:
                inside.pop()
        return names

    def mentioned(self, path):
        """The names in a file and in the headers of ours that it includes itself."""
        text = "".join(map(self.text, [path, *self.included(path)]))
        return set(re.findall(r"[A-Za-z_]\w*", re.sub(r"//.*", "", text)))

    def declared(self, path):
        """The names that headers of ours declare for a file."""
        if path not in self.headers:
            self.headers[path] = set()  # of one that includes itself
            names = set()
            for header in self.included(path):
                names |= self.defined(header) | self.declared(header)
                if header.startswith("ops/") or header in self.calling_ops:
                    self.calling_ops.add(path)
            self.headers[path] = names
        return self.headers[path]


@dataclasses.dataclass
class Names:
    """What a file, or a unit of files, says to a file that is compiled with it."""

    shared: set = dataclasses.field(default_factory=set)  # defined for every file beside it
    sheltered: set = dataclasses.field(default_factory=set)  # defined in a namespace of its own
    own: set = dataclasses.field(default_factory=set)  # defined, and declared by no header of ours
    declared: set = dataclasses.field(default_factory=set)
    types: set = dataclasses.field(default_factory=set)
    suites: set = dataclasses.field(default_factory=set)
    beside_suites: set = dataclasses.field(default_factory=set)  # its own names, alone and in each of its suites: nn/optimizers
    like_ops: set = dataclasses.field(default_factory=set)
    called_ops: set = dataclasses.field(default_factory=set)
    mentioned: set = dataclasses.field(default_factory=set)
    brought: set = dataclasses.field(default_factory=set)

    @classmethod
    def of(cls, path, sources):
        defined, declared = sources.defined(path), sources.declared(path)
        # Two files with namespaces of their own may define one name. Others may not: they would be found by argument.
        shared, sheltered = (set(), defined) if sources.has_a_namespace(path) else (defined, set())
        own = defined - declared
        suites = sources.suites(path)
        beside = shared | {f"{suite}/{name}" for suite in suites for name in shared}
        return cls(shared, sheltered, own, set(declared), {name for name in shared if name[:1].isupper()},
                   suites, beside, sources.like_ops(own), sources.called_ops(path), sources.mentioned(path),
                   sources.brought(path))

    def clash(self, other):
        """Whether the two do not compile together."""
        return bool(self.shared & (other.shared | other.sheltered) or self.beside_suites & other.suites or
                    self.types & other.mentioned)

    def mislead(self, other):
        """Whether a name may mean something else to the other."""
        return bool(self.own & other.declared or self.like_ops & other.called_ops or self.brought != other.brought)

    def fit(self, other, to_run):
        return not (self.clash(other) or other.clash(self) or to_run and (self.mislead(other) or other.mislead(self)))

    def add(self, other):
        for field in dataclasses.fields(self):
            getattr(self, field.name).update(getattr(other, field.name))


def units_of(root, paths, size, before=(), to_run=True):
    """The files in groups of which no two define one name, but for a suite that both add to, none has a name of its own
    that headers declare for another or an op's function that another calls has, none mentions a type that another
    defines, and all use the same namespaces: a name would mean something else. Units that are only read (`to_run` false)
    need only compile: there names may change their meaning. A file stays where it was in the groups `before` if it can: most
    groups outlive a new file as they are."""
    sources = Sources(root)
    place = {path: i for i, unit in enumerate(before) for path in unit}
    units = [([], Names()) for _ in before]
    for path in [*filter(set(paths).__contains__, place), *(path for path in paths if path not in place)]:
        names = Names.of(path, sources)
        home = place.get(path)
        for unit, all_names in [*([] if home is None else [units[home]]), *units]:
            if not unit or len(unit) < size and all_names.fit(names, to_run):
                break
        else:
            unit, all_names = [], Names()
            units.append((unit, all_names))
        unit.append(path)
        all_names.add(names)
    return [unit for unit, _ in units if unit]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--size", type=int)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    root, out = options.root.resolve(), options.out
    out.mkdir(parents=True, exist_ok=True)
    paths = [os.path.relpath(os.path.realpath(file), root) for file in options.files]
    kept = out / "units.json"
    before = list(json.loads(kept.read_text()).values()) if kept.exists() else []
    ending = pathlib.Path(paths[0]).suffix
    texts = {f"unit-{i}{ending}": unit for i, unit in enumerate(units_of(root, paths, options.size, before))}
    for name, unit in texts.items():
        text = "".join(f'#include "panto/{path}"\n' for path in unit)
        if not (out / name).exists() or (out / name).read_text() != text:
            (out / name).write_text(text)
        print(out / name)
    kept.write_text(json.dumps(texts, indent=1))


if __name__ == "__main__":
    main()
