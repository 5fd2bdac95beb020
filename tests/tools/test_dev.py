"""`./dev`: what does not need a build."""
import os
import pathlib
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


class Setup(unittest.TestCase):
    def setup(self, lacking=""):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"dpkg-query": QUERY, "apt-get": "#!/bin/sh\nexit 0\n", "sudo": '#!/bin/sh\nexec "$@"\n'}.items():
                tool = pathlib.Path(folder) / name
                tool.write_text(text)
                tool.chmod(0o755)
            environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", LACKING=lacking)
            return subprocess.run([DEV, "setup"], env=environment, capture_output=True, text=True)

    def test_a_package_of_two_groups_is_not_missing(self):
        run = self.setup()
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"^setup: all \d+ packages are installed\n$")

    def test_what_cannot_be_installed_is_named(self):
        run = self.setup(lacking="valgrind")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stdout, "setup: installing valgrind\n")
        self.assertEqual(run.stderr, "dev: still missing: valgrind\n")


if __name__ == "__main__":
    unittest.main()
