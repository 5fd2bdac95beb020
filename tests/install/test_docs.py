"""The code in README.md, docs/transforms.md, docs/control_flow.md and docs/add-a*.md: it compiles against an installed
library and prints what it says.

A block with `main` is a program. The other blocks of README.md are the body of one, section by section, in order: a
later block may use what an earlier one declared. The plain block that follows a block of code is what it prints. In
docs/add-a*.md blocks that are no whole files are quotations of the project's own.
"""
import dataclasses
import pathlib
import re
import sys
import tempfile

from installed import ROOT, InstalledCase, run

sys.path.insert(0, str(ROOT / "tools"))
from check_output import difference  # noqa: E402

TOLERANCE = 1e-5  # of printed float32 numbers: mathematical functions differ in the last digits between processors


@dataclasses.dataclass
class Block:
    file: pathlib.Path
    line: int  # of its first line of code
    section: str
    code: str
    printed: str | None  # what a plain block right after it shows, less the lines that are commands

    @property
    def where(self):
        return f"{self.file.relative_to(ROOT)}:{self.line}"

    @property
    def located(self):
        """The code, so that a compiler's messages name the line of the document."""
        return f'#line {self.line} "{self.file.relative_to(ROOT)}"\n{self.code}'

    @property
    def is_program(self):
        return re.search(r"^int main\(", self.code, re.MULTILINE) is not None


def blocks_of(file):
    """The ```cpp blocks of a Markdown file."""
    text = file.read_text()
    found = []
    section = ""
    for part in re.finditer(r"^#+ ([^\n]*)$|^```cpp\n(.*?)^```\n(?:\s*^```\n(.*?)^```\n)?", text, re.MULTILINE | re.DOTALL):
        if part[1] is not None:
            section = part[1]
            continue
        printed = part[3] if part[3] is None else re.sub(r"^\$ .*\n", "", part[3], flags=re.MULTILINE)
        found.append(Block(file, text[:part.start(2)].count("\n") + 1, section, part[2], printed))
    return found


class DocumentsTest(InstalledCase):
    def check_printed(self, block, printed):
        if block.printed is not None and (differs := difference(block.printed, printed, TOLERANCE)):
            self.fail(f"{block.where}: what follows this block is not what it prints:\n{differs}")

    def test_readme_programs(self):
        programs = [b for b in blocks_of(ROOT / "README.md") if b.is_program]
        self.assertTrue(programs)
        for block in programs:
            with self.subTest(block=block.where):
                self.check_printed(block, self.build_and_run([block.located]))
                # It compiles in a second; lines are counted, since a busy machine takes longer. The standard library's
                # are five of six: what brings one more of its large headers along goes beyond this.
                self.assertLess(self.lines_to_compile(block.located), 64_000, "are the public headers still light?")

    def test_readme_sections(self):
        blocks = [b for b in blocks_of(ROOT / "README.md") if not b.is_program]
        self.assertGreater(len(blocks), 2)
        end = "\x1e"  # after each block's output
        for section in dict.fromkeys(b.section for b in blocks):
            with self.subTest(section=section):
                own = [b for b in blocks if b.section == section]
                text = "#include <panto/panto.h>\n#include <iostream>\nusing namespace panto;\nint main() {\n"
                for block in own:
                    text += f'{block.located}std::cout << "{end}" << std::flush;\n'
                outputs = self.build_and_run([text + "}\n"]).split(end)
                self.assertEqual(outputs.pop(), "")
                for block, printed in zip(own, outputs, strict=True):
                    with self.subTest(block=block.where):
                        self.check_printed(block, printed)

    def test_the_op_of_a_users_own(self):
        blocks = blocks_of(ROOT / "docs" / "add-an-op.md")
        (op,) = (b for b in blocks if '#include "cube.h"' in b.code and not b.is_program)
        (program,) = (b for b in blocks if b.is_program)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "cube_op.cc"
            source.write_text(op.located)
            run(sys.executable, self.prefix / "share" / "panto" / "generate.py", "--namespace", "cube_ops",
                "--no-export", "--header", "cube.h", "--source", "cube.cc", source, cwd=folder)
            printed = self.build_and_run([program.located, source, source.with_name("cube.cc")], "-I", folder)
        self.check_printed(program, printed)

    def test_the_pass_of_a_users_own(self):
        (program,) = (b for b in blocks_of(ROOT / "docs" / "add-a-pass.md") if b.is_program)
        printed = self.build_and_run([program.located])
        self.check_printed(program, printed)

    def test_pages_of_programs(self):
        """What a page of docs/ has with `main` runs and prints what the page says."""
        pages = [page for page in sorted((ROOT / "docs").glob("*.md")) if not page.name.startswith("add-a")]
        programs = [b for page in pages for b in blocks_of(page) if b.is_program]
        self.assertGreater(len(programs), 6)
        # Read once for all of them: it is half of what each takes to compile.
        header = self.stage / "read_once.h"
        header.write_text("#include <panto/panto.h>\n")
        run("g++", "-std=c++20", "-x", "c++-header", header, "-o", f"{header}.gch", *self.flags("--cflags"))
        for program in programs:
            with self.subTest(block=program.where):
                self.assertIn("#include <panto/panto.h>", program.code)
                self.check_printed(program, self.build_and_run([program.located], "-include", header))

    def test_quotations_are_as_in_the_source(self):
        folders = ("lib/ops", "device", "tests/device", "tests/ops", "tests/runtime")
        sources = [p for folder in folders for p in sorted((ROOT / folder).rglob("*"))
                   if p.suffix in (".cc", ".cu", ".h")]
        texts = [" ".join(p.read_text().split()) for p in sources]
        documents = sorted((ROOT / "docs").glob("add-a*.md"))
        quoted = [b for document in documents for b in blocks_of(document) if "#include" not in b.code]
        self.assertGreater(len(quoted), 2)
        for block in quoted:
            with self.subTest(block=block.where):
                code = " ".join(block.code.split())
                self.assertTrue(any(code in text for text in texts), f"{block.where}: no source file has this block")
