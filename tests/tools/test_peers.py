"""benchmarks/peers: what is compared, how it is timed, and what the page says about it."""
import collections
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

import libraries
import page
import picture
import race
import roster
import run
import workloads

ROW = workloads.Row("add_8x8", "add, 8x8", "add", "eager", "8x8 8x8")


class Fake:
    """A contestant that answers from a list and writes down when it was asked."""

    def __init__(self, name, diary, output=(2, 1.0, 1.0, 0.5), times=(1.0, 1.0), limit=False):
        self.name, self.diary, self.output, self.times, self.limit = name, diary, output, times, limit

    def prepare(self, row):
        if isinstance(self.output, Exception):
            raise self.output
        return self.output and list(self.output)

    def measure(self, seconds):
        self.diary.append(self.name)
        if isinstance(self.times, Exception):
            raise self.times
        return list(self.times)


class Racing(unittest.TestCase):
    def race(self, *contestants, row=ROW):
        self.complaints = []
        return race.race(row, contestants, 0.1, self.complaints.append)

    def test_the_order_is_there_and_back(self):
        diary = []
        self.race(*(Fake(name, diary) for name in "abc"))
        self.assertEqual("".join(diary), "abccba")

    def test_median_and_spread_are_of_both_turns_and_of_one_item(self):
        times = self.race(Fake("a", [], times=(100.0, 200.0, 300.0, 400.0, 500.0)), row=ROW._replace(per=100))
        self.assertEqual(times["a"].median, 3.0)
        self.assertAlmostEqual(times["a"].spread, 1.25)
        self.assertEqual(times["a"].batches, 10)
        self.assertEqual(race.time_of([4.0], 2), race.Time(2.0, 0.0, 1))

    def test_who_computes_something_else_is_not_timed(self):
        diary = []
        times = self.race(Fake("ours", diary), Fake("other", diary, (2, 1.0, 1.0, 0.5001)),
                          Fake("near", diary, (2, 1.0, 1.0, 0.50001)))
        self.assertEqual(list(times), ["ours", "near"])
        self.assertEqual("".join(self.complaints)[:40], "add_8x8: other computes something else: ")

    def test_who_does_not_do_it_or_fails_is_left_out(self):
        times = self.race(Fake("ours", []), Fake("without", [], None), Fake("broken", [], race.Refused("no memory")),
                          Fake("dies", [], times=race.Refused("it ended with status -9 when asked to measure")))
        self.assertEqual(list(times), ["ours"])
        self.assertEqual(self.complaints, ["add_8x8: broken fails: no memory",
                                           "add_8x8: dies fails: it ended with status -9 when asked to measure"])

    def test_outputs_of_peers_are_compared_also_where_we_have_none(self):
        times = self.race(Fake("ours", [], None), Fake("a", []), Fake("b", [], (3, 1.0, 1.0, 0.5)))
        self.assertEqual(list(times), ["a"])

    def test_a_limit_has_times_but_no_result(self):
        times = self.race(Fake("ours", []), Fake("limit", [], (0, 0.0, 0.0, 0.0), limit=True))
        self.assertEqual(list(times), ["ours", "limit"])

    def test_agreement_is_relative_to_the_magnitude(self):
        self.assertTrue(race.agree([4, 0.0, 1e6, 5.0], [4, 9.0, 1e6, 5.0], 1e-5))
        self.assertFalse(race.agree([4, 0.0, 1e6, 5.0], [4, 11.0, 1e6, 5.0], 1e-5))
        self.assertFalse(race.agree([4, 0.0, 1.0, 0.0], [5, 0.0, 1.0, 0.0], 1e-5))
        self.assertFalse(race.agree([4, 0.0, 1.0, 0.0], [4, float("nan"), 1.0, 0.0], 1e-5))

    def test_programs_are_asked_in_the_protocol(self):
        program = ("import sys\nfor line in sys.stdin:\n"
                   "    verb, what = line.split()[:2]\n"
                   "    if verb == 'measure': print('times 0.5 1.5 1', flush=True)\n"
                   "    elif verb == 'turns' and line.split()[2] == 'traced': print('ratios 0.5 0.7 0.6', flush=True)\n"
                   "    elif verb == 'turns': print('none', flush=True)\n"
                   "    elif what == 'none': print('none', flush=True)\n"
                   "    elif what == 'bad': print('error it', 'is bad', flush=True)\n"
                   "    elif what == 'end': sys.exit(3)\n"
                   "    else: print('ready', len(line.split()) - 3, '1 2 0.25', flush=True)\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "fake.py"
            path.write_text(program)
            c = race.Contestant("fake", [sys.executable, str(path)],
                                mode=lambda row: None if row.mode == "traced" else row.mode)
            self.assertEqual(c.prepare(ROW), [2, 1, 2, 0.25])
            self.assertEqual(c.measure(0.1), [0.5, 1.5, 1.0])
            self.assertEqual(c.turns(0.1, "traced"), [0.5, 0.7, 0.6])
            self.assertEqual(race.traced_by_eager(ROW, c, 0.1, print), [0.5, 0.6, 0.7])
            self.assertIsNone(race.traced_by_eager(ROW._replace(mode="grad"), c, 0.1, print))
            self.assertIsNone(race.traced_by_eager(ROW._replace(mode="traced"), c, 0.1, print))
            self.assertIsNone(c.prepare(ROW._replace(work="none")))
            self.assertIsNone(c.prepare(ROW._replace(mode="traced")))
            with self.assertRaisesRegex(race.Refused, "^it is bad$"):
                c.prepare(ROW._replace(work="bad"))
            with self.assertRaisesRegex(race.Refused, "status 3 when asked to prepare"):
                c.prepare(ROW._replace(work="end"))
            with self.assertRaisesRegex(race.Refused, "status 3"):
                c.prepare(ROW)
            c.close()


def a_run(**times):
    """A saved run in which `add_16m` took the contestants these medians, each ±1 %."""
    rows = {"add_16m": {name: race.Time(t, t / 100, 30) for name, t in times.items()}}
    return {"cpu": "a processor", "threads": 2, "date": "2001-02-03", "load": 0.1, "names": list(times), "huge_pages": "never",
            "versions": {"PyTorch": "1.2"}, "rows": rows, "turns": {}, "libraries": {},
            "complaints": []}


class Page(unittest.TestCase):
    def line(self, **times):
        rows = next(rows for _, rows in workloads.SECTIONS if any(r.name == "add_16m" for r in rows))
        lines = page.table(rows, a_run(**times)["rows"], list(times))
        self.assertEqual(len(lines), 3)
        return lines[2]

    def test_the_ratio_is_to_the_best_peer(self):
        self.assertEqual(self.line(Pantograph=2e-3, PyTorch=8e-3, JAX=4e-3),
                         "| add, 16 M | 2 ms | 8 ms | 4 ms | 0.50 (JAX) |")

    def test_traced_functions_are_bold_where_even_the_lower_quartile_is_slower(self):
        lines = page.turns_table({"exp_16m": [0.9, 1.1, 1.2], "add_16m": [1.02, 1.05, 1.1]})
        self.assertEqual(lines[2:], ["| add, 16 M | **1.05** | 1.02 to 1.10 |", "| exp, 16 M | 1.10 | 0.90 to 1.20 |"])
        self.assertIn("## Traced beside eager", page.document(a_run(Pantograph=1.0) | {"turns": {"exp_16m": [1, 1, 1]}}))

    def test_slower_is_bold(self):
        self.assertTrue(self.line(Pantograph=2.0, PyTorch=1.0).endswith("| **2.00** (PyTorch) |"))

    def test_a_limit_and_our_traced_function_are_no_peers(self):
        self.assertEqual(self.line(Pantograph=2e-3, traced=1e-3, PyTorch=4e-3, limit=1e-3),
                         "| add, 16 M | 2 ms | 1 ms | 4 ms | 0.50 (PyTorch) | 1 ms (2.00) |")

    def test_traced_is_bold_where_it_is_slower_than_its_spread_explains(self):
        self.assertIn("| **2.2 ms** |", self.line(Pantograph=2e-3, traced=2.2e-3, PyTorch=1))
        self.assertIn("| 2.01 ms |", self.line(Pantograph=2e-3, traced=2.01e-3, PyTorch=1))

    def test_without_a_peer_there_is_no_ratio(self):
        self.assertEqual(self.line(Pantograph=2e-3), "| add, 16 M | 2 ms |  |")

    def test_a_large_spread_is_shown(self):
        self.assertEqual(page.cell(race.Time(1e-6, 4e-8, 9)), "1 us")
        self.assertEqual(page.cell(race.Time(1e-6, 1.2e-7, 9)), "1 us ±12 %")

    def test_units(self):
        self.assertEqual([page.show(t) for t in (2.5e-9, 1.234e-7, 9.9999e-7, 1.5e-5, 0.0123, 0.99996, 12)],
                         ["2.5 ns", "123 ns", "1 us", "15 us", "12.3 ms", "1 s", "12 s"])

    def test_the_page_says_where_it_was_measured_and_what_is_left_out(self):
        found = a_run(Pantograph=1.0, PyTorch=2.0) | {"complaints": ["sum: PyTorch fails: x"]}
        text = page.document(found)
        self.assertIn("Measured on: a processor, 2 threads, transparent huge pages: never, 2001-02-03. PyTorch 1.2.", text)
        self.assertIn("- sum: PyTorch fails: x", text)
        self.assertNotIn("busy", text)
        self.assertIn("Other programs kept 1.5 processors busy", page.document(found | {"load": 1.5}))

    def test_libraries_have_what_applies_to_them(self):
        costs = {"Pantograph": {"compile": 0.9, "start": 0.0123, "loaded": 56_700_000}, "JAX": {"start": 1.5}}
        text = page.document(a_run(Pantograph=1.0) | {"libraries": costs})
        self.assertIn("| Pantograph | 900 ms | 12.3 ms | 57 MB |\n| JAX |  | 1.5 s |  |", text)
        self.assertNotIn("## Libraries", page.document(a_run(Pantograph=1.0)))

    def test_a_page_of_a_gpu_names_it_and_no_processor(self):
        text = page.document(a_run(Pantograph=1.0, JAX=2.0) | {"gpu": "a GPU"})
        self.assertIn("Measured on: a GPU, ", text)
        self.assertIn("Side by side on a GPU", text)
        self.assertNotIn("OpenMP", text)

    def test_lines_are_short(self):
        for line in (page.METHOD + page.INTRODUCTION + page.LIBRARIES).splitlines():
            self.assertLessEqual(len(line), 120)


class Run(unittest.TestCase):
    def test_what_others_keep_busy(self):
        spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            self.assertGreater(run.others(0.3), 0.2)
        finally:
            spinner.kill()
            spinner.wait()

    def test_a_page_is_made_again_of_what_was_saved(self):
        saved = json.loads(json.dumps(a_run(Pantograph=2e-3, PyTorch=4e-3)))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            run.write_page(saved, pathlib.Path(folder))
            self.assertIn("| 0.50 (PyTorch) |", (pathlib.Path(folder) / "peers.md").read_text())
            self.assertEqual(len(list(pathlib.Path(folder).iterdir())), 2)


class Picture(unittest.TestCase):
    def bars(self, found):
        svg = xml.etree.ElementTree.fromstring(picture.picture(found))
        return [r.attrib for r in svg.iter("{http://www.w3.org/2000/svg}rect")]

    def test_a_bar_for_each_compared_workload(self):
        faster, = self.bars(a_run(Pantograph=1e-3, PyTorch=1e-2, JAX=1e-1, limit=1e-4))
        slower, = self.bars(a_run(Pantograph=1e-2, PyTorch=1e-3, JAX=1e-1))
        self.assertEqual((faster["class"], slower["class"]), ("faster", "slower"))
        self.assertGreater(float(faster["width"]), 1)
        self.assertGreater(float(slower["width"]), 1)
        self.assertEqual(self.bars(a_run(Pantograph=1.0, limit=0.5)), [])

    def test_what_we_leave_out_has_no_bar(self):
        self.assertEqual(self.bars(a_run(Pantograph=1e-11, PyTorch=1.0)), [])

    def test_every_peer_has_a_colour(self):
        self.assertEqual(set(roster.NAMES) - {roster.OURS, roster.TRACED, roster.LIMIT}, set(picture.COLOURS))


class Libraries(unittest.TestCase):
    def test_what_a_process_has_loaded(self):
        program = "import ctypes, sys\nctypes.CDLL(sys.argv[1])\nprint(flush=True)\ninput()"
        sizes = []
        for library in ("libm.so.6", "libresolv.so.2"):  # of every C++ program, and not
            process = subprocess.Popen([sys.executable, "-c", program, library], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
            process.stdout.readline()
            sizes.append(libraries.loaded_bytes(process.pid))
            process.communicate(b"\n")
        self.assertGreater(sizes[1] - sizes[0], 10_000)
        self.assertLess(sizes[1] - sizes[0], 1_000_000)

    def test_every_library_has_a_smallest_program(self):
        self.assertEqual(set(libraries.PROGRAMS), set(roster.NAMES) - {roster.TRACED, roster.LIMIT, "XLA"})

    def test_seconds_of_a_command(self):
        self.assertGreater(libraries.seconds_of(["sleep", "0.02"]), 0.02)
        with self.assertRaises(subprocess.CalledProcessError):
            libraries.seconds_of(["false"])


class Workloads(unittest.TestCase):
    def test_names_are_unique(self):
        rows = [row for _, rows in workloads.SECTIONS for row in rows]
        self.assertEqual(len(rows), len(workloads.ROWS))

    def test_a_network_has_what_its_layers_need(self):
        parts = [part.split(":")[0] for part in workloads.resnet(*workloads.RESNET).split()]
        self.assertEqual(len(parts), 2 + 3 * (1 + 3 * (3 + 4 + 6 + 3) + 4) + 2)
        self.assertEqual(parts[:3] + parts[-2:], ["4x65x65x3", "4", "7x7x3x64", "2048x1000", "1000"])
        self.assertEqual(parts[5:17:3], ["1x1x64x64", "3x3x64x64", "1x1x64x256", "1x1x64x256"])
        self.assertEqual(len(workloads.L2HMC.split()), 3 + 2 * 14)

    def test_time_is_by_node(self):
        for name, nodes in (("no_ops_tall", 1025 * 16 + 1024 + 1), ("identities", 10101), ("chain_deep", 10002)):
            self.assertEqual(workloads.ROWS[name].per, nodes)

    def test_a_traced_row_is_the_eager_one_traced(self):
        for name, row in workloads.ROWS.items():
            if not name.endswith("_traced") or name.removesuffix("_traced") not in workloads.ROWS:
                continue
            eager = workloads.ROWS[name.removesuffix("_traced")]
            self.assertEqual((row.work, row.inputs), (eager.work, eager.inputs), name)
            self.assertEqual(row.mode, {"eager": "traced", "grad": "traced_grad", "train": "traced_train"}[eager.mode])


@unittest.skipUnless("PANTO_BUILD" in os.environ, "PANTO_BUILD is not set: ./dev test sets it")
class OurContestant(unittest.TestCase):
    """It does every row; here on less."""
    RESNET = workloads.resnet([1, 2], 3, 2, 17, 2)
    SMALL = {"resnet": RESNET, "resnet_inference": RESNET,
             "mlp": "4x6 4:class:3 6x5:-1:1 5 5x3:-1:1 3", "cnn": "2x8x8x1 2:class:3 3x3x1x4:-1:1 4 3x3x4x5:-1:1 5 20x3:-1:1 3",
             "lstm": "3x4x6 4:class:3 11x20:-1:1 20 5x3:-1:1 3",
             "transformer": "16x8:-1:1 16:class:8 8 8 8x24:-1:1 24 8x8:-1:1 8 8 8 8x10:-1:1 10 10x8:-1:1 8",
             "matmul": "4x5 5x6", "matmul_bfloat16": "4x5:0:1:bfloat16 5x6:0:1:bfloat16", "add": "4x5 4x5", "mul": "4x5 4x5", "chain": "2x2 2x2:0.99:1.01", "bias_add": "4x5 5",
             "layer_norm": "4x5 5 5", "conv": "2x5x5x3:-1:1:nhwc 3x3x3x4:-1:1:hwio 2x5x5x4:-1:1:nhwc",
             "conv_nchw": "2x3x5x5:-1:1:nchw 3x3x3x4:-1:1:hwio_nchw 2x4x5x5:-1:1:nchw",
             "product": "2x3 2x3 2x3", "hessian": "2x3 2x3 2x3 2x3", "add_transposed": "4x5 5x4",
             "gpt2": "32:class:9 32:class:9 9x8:-1:1 4x8:-1:1" + 2 * (
                 " 8 8 8x24:-1:1 24 8x8:-1:1 8 8 8 8x10:-1:1 10 10x8:-1:1 8") + " 8 8",
             "l2hmc": workloads.L2HMC.replace("200x2", "3x2")}

    def test_every_row_traced_or_not(self):
        program = pathlib.Path(os.environ["PANTO_BUILD"]) / "benchmarks" / "panto_contestant"
        c = race.Contestant("ours", [str(program), "1"])
        outputs = collections.defaultdict(dict)
        for row in workloads.ROWS.values():
            output = c.prepare(row._replace(inputs=self.SMALL.get(row.work, "4x5:-1:1")))
            self.assertTrue(output, row.name)
            self.assertGreater(c.measure(0.001)[0], 0)
            kind = "gradient" if "grad" in row.mode else "training" if "train" in row.mode else "result"
            expected = outputs[row.work].setdefault(kind, output)
            self.assertTrue(race.agree(expected, output, 1e-5), f"{row.name}: {output}, not {expected}")
        c.close()


if __name__ == "__main__":
    unittest.main()
