#!/usr/bin/env python3
"""Groups of source files that are compiled, or read by clang-tidy, as if one file included them all.

Most of the time that a file takes goes into headers, which the files share.

units.py --size N --root ROOT --out OUT FILE...: writes OUT/unit-N.cc, each of which includes up to so many of the files,
and `OUT/units.json`, {path of a unit from OUT: paths of its files from ROOT}; prints the paths of the units.
"""
import argparse
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
SUITE = re.compile(r"^BOOST_AUTO_TEST_SUITE(?:\((\w+)|_END\()", re.MULTILINE)


class Sources:
    """What files name, as far as units must know."""

    def __init__(self, root):
        self.root = root
        self.texts, self.headers = {}, {}

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

    def suites(self, path):
        """The outermost suites of tests: namespaces, which several files may have in common."""
        names, open_suites = set(), 0
        for name in SUITE.findall(self.text(path)):
            if name and open_suites == 0:
                names.add(name)
            open_suites += 1 if name else -1
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
            self.headers[path] = names
        return self.headers[path]


def units_of(root, paths, size, before=()):
    """The files in groups of which no two define one name, but for a suite that both add to, none has a name of its own
    that headers declare for another, and none mentions a type that another defines: it would mean another one. A file
    stays where it was in the groups `before` if it can: most groups outlive a new file as they are."""
    sources = Sources(root)
    place = {path: i for i, unit in enumerate(before) for path in unit}
    units = [([], [set() for _ in range(7)]) for _ in before]
    for path in [*filter(set(paths).__contains__, place), *(path for path in paths if path not in place)]:
        defined, declared = sources.defined(path), sources.declared(path)
        own = defined - declared
        # Two files with namespaces of their own may define one name. Others may not: they would be found by argument.
        shared, sheltered = (set(), defined) if sources.has_a_namespace(path) else (defined, set())
        types = {name for name in shared if name[:1].isupper()}
        suites = sources.suites(path)
        new = [shared, sheltered, own, declared, types, suites, sources.mentioned(path)]
        home = place.get(path)
        for unit, names in [*([] if home is None else [units[home]]), *units]:
            all_shared, all_sheltered, all_own, all_declared, all_types, all_suites, all_mentioned = names
            if len(unit) < size and not (defined & all_shared or shared & all_sheltered or own & all_declared or
                                         all_own & declared or types & all_mentioned or all_types & new[-1] or
                                         shared & all_suites or suites & all_shared):
                unit.append(path)
                for all_names, more in zip(names, new, strict=True):
                    all_names |= more
                break
        else:
            units.append(([path], [set(names) for names in new]))
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
