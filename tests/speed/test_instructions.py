"""What calls on small tensors cost, in instructions: these counts do not depend on how busy the
machine is, so a test can hold them to a budget."""
import functools
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

# Instructions an item, on tensors of 8x8 float32, arithmetic included: at most these. They are what was measured, with
# g++ 12 and AVX2 (valgrind 3.19 knows no AVX-512), plus 8 %. A change that makes a call cheaper lowers its budget, so
# that the next one keeps what was won; one that raises it says in its commit what that buys.
BUDGETS = {
    "add": 922,                  # an eager call
    "add_taped": 1440,           # the same, recorded for a gradient
    "matmul": 2040,              # an eager MatMul
    "chain_and_gradient": 3110,  # a multiplication in a chain of 100, recorded, and its gradient
    "traced_call": 907,          # a call of a traced function of one op
    "traced_node": 305,          # a node in a traced chain of 100, nothing fused
    "late_node": 613,            # the same where an operand's shape is known only at the run
    "while_round": 341,          # a round of a loop on scalars, of five ops
    "while_and_gradient_round": 1015,  # the same, and the round of its gradient
}


# An item of many costs at most this much more than one of few: what is quadratic costs 5 to 20 times as much here.
GROWTH = 1.6


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
class Instructions(unittest.TestCase):
    @functools.cache
    def counts(self):
        """{name: instructions an item}"""
        program = str(pathlib.Path(os.environ["PANTO_BUILD"]) / "tests/speed/instructions")
        with tempfile.TemporaryDirectory() as folder:
            command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/counts",
                       program]
            result = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            items = {name: int(n) for name, n in (line.split() for line in result.stdout.splitlines())}
            found = {}
            for path in pathlib.Path(folder).iterdir():
                text = path.read_text()
                if name := re.search(r"^desc: Trigger: Client Request: (\S+)$", text, re.MULTILINE):
                    # Not `summary`, which is the difference to what was counted before.
                    found[name[1]] = int(re.search(r"^totals: (\d+)$", text, re.MULTILINE)[1])
        self.assertEqual(set(found), set(items))
        return {name: found[name] / items[name] for name in items}

    @unittest.skipUnless(platform.machine() == "x86_64", "the budgets are for x86-64")
    def test_calls_stay_within_their_budgets(self):
        counts = {name: count for name, count in self.counts().items() if "." not in name}
        print(", ".join(f"{name} {count:.0f}" for name, count in counts.items()))
        self.assertEqual(set(counts), set(BUDGETS))
        for name, budget in BUDGETS.items():
            with self.subTest(name):
                self.assertLessEqual(round(counts[name]), budget)

    def test_an_item_of_many_costs_what_one_of_few_does(self):
        counts = self.counts()
        names = [name.removesuffix(".few") for name in counts if name.endswith(".few")]
        self.assertGreater(len(names), 8)
        for name in names:
            with self.subTest(name):
                few, many = counts[f"{name}.few"], counts[f"{name}.many"]
                print(f"{name}: {few:.0f} of few, {many:.0f} of many")
                self.assertLess(many, GROWTH * few)


if __name__ == "__main__":
    unittest.main()
