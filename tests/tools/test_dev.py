"""`./dev`: what does not need a build."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

DEV = pathlib.Path(__file__).resolve().parents[2] / "dev"

# A package manager that knows each package once, as the real one does, and has all but $LACKING.
QUERY = """#!/usr/bin/env bash
printf '%s\\n' "$@" | grep -v '^-' | sort -u | while read -r package; do
  [ "$package" = "${LACKING:-}" ] || echo "ii $package"
done
"""


SAYS_ENVIRONMENT = """#!/usr/bin/env python3
import json, os
print(json.dumps(dict(os.environ)))
"""


def dev(command, tools, **environment):
    """Runs ./dev, for which `tools` ({name: text}) stand in the place of the machine's."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in tools.items():
            tool = pathlib.Path(folder) / name
            tool.write_text(text)
            tool.chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        return subprocess.run([DEV, command], env={**os.environ, **environment, "PATH": path}, capture_output=True, text=True)


class Setup(unittest.TestCase):
    def setup(self, lacking=""):
        return dev("setup", {"dpkg-query": QUERY, "apt-get": "#!/bin/sh\nexit 0\n", "sudo": '#!/bin/sh\nexec "$@"\n'},
                   LACKING=lacking)

    def test_a_package_of_two_groups_is_not_missing(self):
        run = self.setup()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"^setup: all \d+ packages are installed\n$")

    def test_what_cannot_be_installed_is_named(self):
        run = self.setup(lacking="valgrind")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stdout, "setup: installing valgrind\n")
        self.assertEqual(run.stderr, "dev: still missing: valgrind\n")


@unittest.skipUnless(shutil.which("ccache"), "there is no ccache")
class Ccache(unittest.TestCase):
    def test_a_precompiled_header_is_not_kept_when_a_comment_changes(self):
        build = dev("build", {"dpkg-query": QUERY, "meson": "#!/bin/sh\n", "ninja": SAYS_ENVIRONMENT})
        environment = json.loads(build.stdout)
        with tempfile.TemporaryDirectory() as folder:
            environment["CCACHE_DIR"] = folder + "/cache"
            environment.pop("CCACHE_DISABLE", None)

            def write(name, text):
                pathlib.Path(folder, name).write_text(text)

            def compile(*arguments):
                subprocess.run(["ccache", "c++", *arguments], cwd=folder, env=environment, check=True)
            write("all.h", '#include "types.h"\n')
            for comment in ("first", "other"):
                write("types.h", f"// {comment}\n#pragma once\nstruct Type {{}};\n")
                compile("-x", "c++-header", "-c", "all.h", "-o", "all.h.gch")
                write("use.cc", f'#include "types.h"\nType {comment}_one;\n')
                compile("-include", "all.h", "-fpch-preprocess", "-c", "use.cc", "-o", "use.o")


if __name__ == "__main__":
    unittest.main()
