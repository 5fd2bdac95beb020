"""What example programs say on standard error.

That they print what their .expected files say is a test of its own for each (apps/meson.build).
"""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", ROOT / "build" / "release"))


class Placement(unittest.TestCase):
    def test_logs_every_node_of_both_sessions_as_tensorflow_does(self):
        """Four products on four devices by hand; by cost each is on one of its own, too."""
        result = subprocess.run([BUILD / "apps" / "example_placement"], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        line = r"(\S+): \((\w+)\): /job:localhost/replica:0/task:0/device:CPU:(\d)"
        found = [re.fullmatch(line, text).groups() for text in result.stderr.splitlines()]
        self.assertEqual(len(found), 2 * 11)
        by_hand, by_cost = dict((n, (o, d)) for n, o, d in found[:11]), dict((n, (o, d)) for n, o, d in found[11:])
        for i in range(4):
            self.assertEqual(by_hand[f"product{i}"], ("MatMul", str(i)))
            self.assertEqual(by_hand[f"w{i}"], ("Placeholder", str(i)))
        self.assertEqual(by_hand["y"][1], "0")
        self.assertEqual({by_cost[f"product{i}"][1] for i in range(4)}, set("0123"))


if __name__ == "__main__":
    unittest.main()
