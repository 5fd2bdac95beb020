"""benchmarks/peers: what is compared, how it is timed, and what the page says about it."""
import collections
import contextlib
import io
import json
import os
import pathlib
import platform
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

import causes
import libraries
import page
import picture
import race
import roster
import run
import workloads

ROW = workloads.Row("add_8x8", "add, 8x8", "add", "eager", "8x8 8x8")


def answer(*arrays, each=4096):
    """The output that a contestant says of these arrays, by the protocol's own words."""
    parts = []
    for array in arrays:
        n, k = len(array), min(len(array), each)
        weights = [(i * 0.754877666) % 1 - 0.5 for i in range(n)]  # any, if they are the same for all
        means = [sum(array), sum(map(abs, array)), sum(v * w for v, w in zip(array, weights))]
        places = [i * n // k for i in range(k)]
        parts.append(" ".join([str(n), *(repr(m / max(n, 1)) for m in means), *(repr(array[i]) for i in places)]))
    return race.output_of(" ; ".join(parts).split())


class Fake:
    """A contestant that answers from a list and writes down when it was asked."""

    def __init__(self, name, diary, output=(0.5, 1.5), times=(1.0, 1.0), reference=False):
        self.name, self.diary, self.output, self.times, self.reference = name, diary, output, times, reference

    def prepare(self, row):
        if isinstance(self.output, Exception):
            raise self.output
        return self.output and answer(list(self.output))

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
        times = self.race(Fake("ours", diary), Fake("other", diary, (0.5, 1.500003)),
                          Fake("near", diary, (0.5, 1.5000008)))
        self.assertEqual(list(times), ["ours", "near"])
        self.assertEqual("".join(self.complaints)[:40], "add_8x8: other computes something else: ")

    def test_who_does_not_do_it_or_fails_is_left_out(self):
        times = self.race(Fake("ours", []), Fake("without", [], None), Fake("broken", [], race.Refused("no memory")),
                          Fake("dies", [], times=race.Refused("it ended with status -9 when asked to measure")))
        self.assertEqual(list(times), ["ours"])
        self.assertEqual(self.complaints, ["add_8x8: broken fails: no memory",
                                           "add_8x8: dies fails: it ended with status -9 when asked to measure"])

    def test_outputs_of_peers_are_compared_also_where_we_have_none(self):
        times = self.race(Fake("ours", [], None), Fake("a", []), Fake("b", [], (0.5, 1.5, 1.0)))
        self.assertEqual(list(times), ["a"])

    def test_a_reference_has_times_but_no_result(self):
        times = self.race(Fake("ours", []), Fake("reference", [], (0.0,), reference=True))
        self.assertEqual(list(times), ["ours", "reference"])

    def test_a_traced_function_that_gives_something_else_is_not_compared(self):
        class Both(Fake):
            def prepare(self, row):
                return answer([1.0, 2.0 if row.mode == "eager" else self.traced])

            def turns(self, seconds, mode):
                return [0.5, 0.6, 0.7]
        ours, complaints = Both("ours", []), []
        ours.traced = 2.0
        self.assertEqual(race.traced_by_eager(ROW, ours, 0.1, complaints.append), [0.5, 0.6, 0.7])
        ours.traced = 2.1
        self.assertIsNone(race.traced_by_eager(ROW, ours, 0.1, complaints.append))
        self.assertIn("ours traced computes something else", complaints[0])

    def test_programs_are_asked_in_the_protocol(self):
        program = ("import sys\nfor line in sys.stdin:\n"
                   "    verb, what = line.split()[:2]\n"
                   "    if verb == 'measure': print('times 0.5 1.5 1', flush=True)\n"
                   "    elif verb == 'turns' and line.split()[2] == 'traced': print('ratios 0.5 0.7 0.6', flush=True)\n"
                   "    elif verb == 'turns': print('none', flush=True)\n"
                   "    elif what in ('none', 'nothing'): print('none', flush=True)\n"
                   "    elif what == 'bad': print('error it', 'is bad', flush=True)\n"
                   "    elif what == 'end': sys.exit(3)\n"
                   "    else: print('ready', len(line.split()) - 3, '1 2 0.25 7 8 ; 1 2 2 2 2', flush=True)\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "fake.py"
            path.write_text(program)
            c = race.Contestant("fake", [sys.executable, str(path)],
                                mode=lambda row: None if row.mode == "traced" else row.mode)
            self.assertEqual(c.prepare(ROW), [race.Part(2, 1, 2, 0.25, [7, 8]), race.Part(1, 2, 2, 2, [2])])
            self.assertEqual(c.measure(0.1), [0.5, 1.5, 1.0])
            self.assertEqual(c.turns(0.1, "traced"), [0.5, 0.7, 0.6])
            self.assertEqual(race.traced_by_eager(ROW, c, 0.1, print), [0.5, 0.6, 0.7])
            self.assertIsNone(race.traced_by_eager(ROW._replace(mode="grad"), c, 0.1, print))
            self.assertIsNone(race.traced_by_eager(ROW._replace(mode="traced"), c, 0.1, print))
            self.assertIsNone(c.prepare(ROW._replace(work="none")))
            self.assertFalse(c.holds)
            self.assertTrue(c.prepare(ROW))
            self.assertTrue(c.holds)
            self.assertIsNone(c.prepare(ROW._replace(mode="traced")))
            self.assertFalse(c.holds)  # it was told to give back what it had
            with self.assertRaisesRegex(race.Refused, "^it is bad$"):
                c.prepare(ROW._replace(work="bad"))
            with self.assertRaisesRegex(race.Refused, "status 3 when asked to prepare"):
                c.prepare(ROW._replace(work="end"))
            with self.assertRaisesRegex(race.Refused, "status 3"):
                c.prepare(ROW)
            c.renew(1 << 40)  # it has ended
            self.assertTrue(c.prepare(ROW))
            process = c.process
            c.renew(1 << 40)
            self.assertIs(c.process, process)
            self.assertTrue(c.holds)
            c.renew(1 << 10)  # it holds more
            self.assertIsNot(c.process, process)
            self.assertIsNotNone(process.returncode)
            self.assertFalse(c.holds)
            self.assertTrue(c.prepare(ROW))
            c.close()


DATE = "2001-02-03 04:05"


class Agreement(unittest.TestCase):
    """Results that look right to averages are refused."""
    N = 48

    @classmethod
    def setUpClass(cls):
        numbers = random.Random(7)
        a, b = ([[numbers.uniform(-1, 1) for _ in range(cls.N)] for _ in range(cls.N)] for _ in range(2))
        cls.product = [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]

    def wrong(self, got, row=workloads.ROWS["matmul_256"], expected=None):
        flat = [v for line in expected or self.product for v in line]
        return race.difference(answer(flat), answer([v for line in got for v in line]), row)

    def test_the_same_with_other_rounding_agrees(self):
        rounded = [[struct.unpack("f", struct.pack("f", v))[0] for v in line] for line in self.product]
        self.assertNotEqual(rounded, self.product)
        self.assertEqual(self.wrong(rounded), "")

    def test_a_transposed_product_is_refused(self):
        self.assertIn("elements that are compared", self.wrong(list(zip(*self.product))))

    def test_reversed_rows_are_refused(self):
        self.assertIn("elements that are compared", self.wrong(self.product[::-1]))

    def test_zeroed_outputs_are_refused(self):
        zeros = [[0.0] * self.N for _ in range(self.N)]
        self.assertIn("elements that are compared", self.wrong(zeros))
        self.assertIn("elements that are compared", self.wrong(self.product, expected=zeros))
        # Also where expected values are small, and in a part of them.
        small = [[v * 1e-9 for v in line] for line in self.product]
        self.assertIn("elements that are compared", self.wrong(zeros, expected=small))
        self.assertIn("elements that are compared", self.wrong([*self.product[:-1], zeros[0]]))

    def test_a_constant_bfloat16_result_is_refused(self):
        row = workloads.ROWS["matmul_1024_bfloat16"]
        for signs in workloads.ROWS[row.name].inputs.split():
            self.assertTrue(signs.endswith(":-1:1::bfloat16"), signs)
        halves = [[struct.unpack("f", struct.pack("I", struct.unpack("I", struct.pack("f", v))[0] + 0x8000 & 0xffff0000))[0]
                   for v in line] for line in self.product]
        self.assertEqual(self.wrong(halves, row), "")
        mean = sum(map(sum, self.product)) / self.N ** 2
        self.assertIn("elements that are compared", self.wrong([[mean] * self.N for _ in range(self.N)], row))

    def test_no_numbers_and_other_counts_are_refused(self):
        nan = [[float("nan"), *self.product[0][1:]], *self.product[1:]]
        self.assertIn("nan", self.wrong(nan))
        self.assertIn("elements, not", self.wrong(self.product[1:]))
        self.assertEqual(race.difference(answer([1.0]), answer([1.0], [1.0]), ROW), "2 results, not 1")

    def test_what_lies_between_the_places_is_seen_by_means(self):
        numbers = random.Random(8)
        one = [numbers.uniform(-1, 1) for _ in range(20000)]
        other = [*one[:9999], one[9999] + 0.5, *one[10000:]]
        self.assertNotIn(9999, [i * 20000 // 4096 for i in range(4096)])
        self.assertIn("mean", race.difference(answer(one), answer(other), ROW))

    def test_parameters_have_a_tolerance_of_their_own(self):
        row = ROW._replace(tolerance=1e-6, changes=1e-3)
        loss, changes = [2.0, 1.9], [0.01, -0.02]
        got = answer(loss, [v * 1.0005 for v in changes])
        self.assertEqual(race.difference(answer(loss, changes), got, row), "")
        self.assertIn("result 1", race.difference(answer(loss, changes), answer(loss, [0.0, 0.0]), row))
        self.assertIn("result 0", race.difference(answer(loss, changes), answer([2.0, 1.901], changes), row))


def a_run(**times):
    """A saved run in which `add_16m` took the contestants these medians, each ±1 %."""
    rows = {"add_16m": run.Found({name: race.Time(t, t / 100, 30) for name, t in times.items()}, DATE, 0.1)}
    return {"cpu": "a processor with AVX-512", "threads": 2, "date": DATE, "names": list(times), "huge_pages": "never",
            "versions": {"PyTorch": "1.2"}, "rows": rows, "turns": {}, "libraries": {},
            "complaints": []}


class Page(unittest.TestCase):
    def line(self, **times):
        rows = next(rows for _, rows in workloads.SECTIONS if any(r.name == "add_16m" for r in rows))
        lines = page.table(rows, a_run(**times)["rows"], list(times), DATE)
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

    def test_a_lead_within_the_spreads_is_a_tie(self):
        self.assertTrue(self.line(Pantograph=2e-3, PyTorch=2.03e-3).endswith("| tie, 0.99 (PyTorch) |"))
        self.assertTrue(self.line(Pantograph=2.02e-3, PyTorch=2e-3).endswith("| tie, 1.01 (PyTorch) |"))
        self.assertTrue(self.line(Pantograph=2e-3, PyTorch=2.05e-3).endswith("| 0.98 (PyTorch) |"))

    def test_rows_that_are_behind_say_why(self):
        self.assertEqual([name for name in causes.CAUSES if name not in workloads.ROWS], [])
        text = page.document(a_run(Pantograph=2.0, PyTorch=1.0))
        self.assertIn("## Where another is ahead\n\n- add, 16 M, 2.00 of PyTorch: not known.\n", text)
        self.assertNotIn("Where another is ahead", page.document(a_run(Pantograph=1.0, PyTorch=2.0)))

    def test_a_row_of_another_run_says_when_and_what_ran_beside_it(self):
        found = a_run(Pantograph=2e-3, PyTorch=8e-3)
        self.assertNotIn("Not all rows", page.document(found))
        found["rows"]["add_16m"] = found["rows"]["add_16m"]._replace(date="2002-03-04 05:06", load=0.7)
        text = page.document(found)
        self.assertIn("| add, 16 M **[2002-03-04 05:06; others kept 0.7 processors busy]** |", text)
        self.assertIn("Not all rows are of that run: 1 of 1 were measured anew, and say when.", text)
        self.assertIn("other programs kept at most 0.70 processors busy", text)

    def test_a_reference_and_what_is_ours_are_no_peers(self):
        self.assertEqual(self.line(Pantograph=2e-3, traced=1e-3, PyTorch=4e-3, **{"no cache": 1.5e-3, "reference": 1e-3}),
                         "| add, 16 M | 2 ms | 1 ms | 4 ms | 1.5 ms | 0.50 (PyTorch) | 1 ms (2.00) |")

    def test_peers_with_other_memory_have_a_column_together(self):
        line = self.line(Pantograph=2e-3, PyTorch=8e-3, **{"PyTorch, tuned": 4e-3, "JAX, tuned": 5e-3})
        self.assertEqual(line, "| add, 16 M | 2 ms | 8 ms | 0.25 (PyTorch) | 4 ms: 0.50 (PyTorch) |")
        line = self.line(Pantograph=2e-3, PyTorch=8e-3, **{"JAX, tuned": 1e-3})
        self.assertTrue(line.endswith("| 1 ms: **2.00** (JAX) |"), line)

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
        self.assertIn("Measured on: a processor with AVX-512, 2 threads, transparent huge pages: never, 2001-02-03 04:05. PyTorch 1.2.", text)
        self.assertIn("- sum: PyTorch fails: x", text)
        self.assertIn("other programs kept at most 0.10 processors busy", text)

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
        for line in (page.METHOD + page.INTRODUCTION + page.LIBRARIES + page.GPU_METHOD + page.GPU_INTRODUCTION).splitlines():
            self.assertLessEqual(len(line), 120)


class Run(unittest.TestCase):
    def test_what_others_keep_busy(self):
        spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            alone, ours, start = run.Load([]), run.Load([spinner.pid]), time.monotonic()
            before = run.own_times([spinner.pid])
            while run.own_times([spinner.pid]) - before < 0.5:  # as long as it takes it beside others
                time.sleep(0.05)
            # That it is ours makes this difference.
            seconds = (alone.processors() - ours.processors()) * (time.monotonic() - start)
            self.assertGreater(seconds, 0.3)
        finally:
            spinner.kill()
            spinner.wait()

    def test_a_process_that_has_ended_has_no_times(self):
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        self.assertGreater(run.own_times([ended.pid]), 0)
        self.assertLess(abs(run.own_times([ended.pid]) - run.own_times([])), 1)

    def test_a_processor_is_named_with_its_vectors(self):
        with tempfile.TemporaryDirectory() as folder:
            description = pathlib.Path(folder) / "cpuinfo"
            self.assertEqual(run.cpu_model(description), platform.machine())
            for flags, named in (("sse2", "A 1"), ("sse2 avx2", "A 1 with AVX2"), ("avx2 avx512f", "A 1 with AVX-512"),
                                 ("avx512_bf16 avx2 avx512f", "A 1 with AVX-512 BF16")):
                description.write_text(f"model name\t: A 1\nflags\t\t: {flags}\nmodel name\t: A 1\n")
                self.assertEqual(run.cpu_model(description), named)

    def test_rows_of_two_places_make_no_table(self):
        place = {"cpu": "a", "threads": 2, "versions": {"JAX": "1"}}
        self.assertEqual(run.other_place({}, place), [])
        self.assertEqual(run.other_place(json.loads(json.dumps(place | {"date": DATE})), place), [])
        self.assertEqual(run.other_place(place | {"cpu": "b"}, place), ["cpu was b, is a"])
        self.assertEqual(len(run.other_place({"rows": {}}, place)), 3)

    def test_a_page_is_made_again_of_what_was_saved(self):
        saved = json.loads(json.dumps(a_run(Pantograph=2e-3, PyTorch=4e-3)))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            root = self.a_root(folder)
            run.write_pages([saved], root)
            self.assertIn("| 0.50 (PyTorch) |", (root / "docs" / "peers.md").read_text())
            self.assertEqual(len(list((root / "docs").iterdir())), 2)
            self.assertEqual((root / "README.md").read_text(), "It is the fastest in 1 of 1\nrows, in 0 as fast, and in 0 slower.")

    def test_each_kind_of_machine_has_a_page(self):
        for cpu, gpu, name in (("A 1 with AVX-512 BF16", None, "peers"), ("A 1 with AVX-512", None, "peers"),
                               ("A 1 with AVX2", None, "peers-avx2"), ("A 1", None, "peers-other"), ("A 1", "G 2", "gpu")):
            self.assertEqual(page.name_of({"cpu": cpu, "gpu": gpu}), name)
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            root = self.a_root(folder)
            wide = json.loads(json.dumps(a_run(Pantograph=2e-3, PyTorch=4e-3)))
            narrow = wide | {"cpu": "A 1 with AVX2"}
            run.write_pages([narrow], root)
            self.assertEqual(sorted(p.name for p in (root / "docs").iterdir()), ["peers-avx2.md", "peers-avx2.svg"])
            self.assertIn("fastest in 7 of 88", (root / "README.md").read_text())
            self.assertNotIn("(peers.md)", (root / "docs" / "peers-avx2.md").read_text())
            run.write_pages([narrow, wide], root)
            self.assertIn("(peers.md)", (root / "docs" / "peers-avx2.md").read_text())
            self.assertIn("Of one with AVX2 and no wider vectors: [peers-avx2.md](peers-avx2.md).",
                          (root / "docs" / "peers.md").read_text())
            self.assertIn("(peers-avx2.svg)", (root / "docs" / "peers-avx2.md").read_text())

    def test_what_is_kept_of_a_run(self):
        saved = a_run(Pantograph=1.23456789e-3, PyTorch=4e-3) | {"turns": {"add_16m": [0.9, 1, 1.1]}}
        text = run.text_of(saved)
        kept = json.loads(text)
        self.assertEqual(kept["rows"]["add_16m"][0]["Pantograph"][0], 1.2346e-3)
        self.assertEqual(kept | {"rows": 0}, json.loads(json.dumps(saved)) | {"rows": 0})
        self.assertEqual(run.text_of(kept), text)
        self.assertIn('\n    "add_16m": [', text)

    def test_the_pages_are_made_of_what_is_kept(self):
        if not (runs := run.kept_runs()):
            self.skipTest("no table is kept yet: ./dev bench peers --table")
        self.assertEqual(sorted(path.stem for path in run.MEASURED.glob("*.json")), sorted(map(page.name_of, runs)))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            root = self.a_root(folder)
            for name in page.KINDS:
                if (ROOT / "docs" / f"{name}.md").exists():
                    (root / "docs" / f"{name}.md").touch()
            run.write_pages(runs, root)
            for written in (root / "docs").iterdir():
                if written.stat().st_size:
                    self.assertEqual(written.read_text(), (ROOT / "docs" / written.name).read_text())

    def a_root(self, folder):
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "README.md").write_text("It is the fastest in 7 of 88\nrows, in 9 as fast, and in 4 slower.")
        return root

    def test_a_readme_that_counts_nothing_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            readme = self.a_root(folder) / "README.md"
            readme.write_text("It is fast.")
            with self.assertRaisesRegex(SystemExit, "expected one sentence that counts rows, got 0"):
                run.count_in_readme(readme, {})
            self.assertEqual(readme.read_text(), "It is fast.")


class Picture(unittest.TestCase):
    def bars(self, found):
        svg = xml.etree.ElementTree.fromstring(picture.picture(found))
        return [r.attrib for r in svg.iter("{http://www.w3.org/2000/svg}rect")]

    def test_a_bar_for_each_compared_workload(self):
        faster, = self.bars(a_run(Pantograph=1e-3, PyTorch=1e-2, JAX=1e-1, reference=1e-4))
        slower, = self.bars(a_run(Pantograph=1e-2, PyTorch=1e-3, JAX=1e-1))
        self.assertEqual((faster["class"], slower["class"]), ("faster", "slower"))
        self.assertGreater(float(faster["width"]), 1)
        self.assertGreater(float(slower["width"]), 1)
        self.assertEqual(self.bars(a_run(Pantograph=1.0, reference=0.5)), [])

    def test_a_tie_is_neither_faster_nor_slower(self):
        for times in ((1.0, 1.01), (1.01, 1.0)):
            tie, = self.bars(a_run(Pantograph=times[0], PyTorch=times[1]))
            self.assertEqual(tie["class"], "tie")
            self.assertIn("a tie", picture.picture(a_run(Pantograph=times[0], PyTorch=times[1])))

    def texts(self, svg):
        return [t for t in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]

    def check_that_texts_fit(self, svg):
        """With 7 pixels a character, which no row takes in DejaVu Sans, a wide font."""
        width = float(xml.etree.ElementTree.fromstring(svg).get("width"))
        texts = self.texts(svg)
        self.assertGreater(len(texts), 5)
        for text in texts:
            x, long = float(text.get("x")), 7 * len(text.text)
            left = x - {"start": 0, "middle": long / 2, "end": long}[text.get("text-anchor")]
            self.assertGreaterEqual(left, 0, text.text)
            self.assertLessEqual(left + long, width, text.text)

    def test_its_texts_fit(self):
        every = {row.name: run.Found({"Pantograph": race.Time(1e-3, 0, 9), "torch.compile": race.Time(999, 0, 9)}, DATE, 0)
                 for _, rows in workloads.SECTIONS for row in rows}
        self.check_that_texts_fit(picture.picture(a_run() | {"rows": every}))
        self.check_that_texts_fit((ROOT / "docs" / "peers.svg").read_text())

    def test_it_can_be_drawn_from_the_page(self):
        found = a_run(Pantograph=2e-3, PyTorch=4e-3, JAX=1.5, reference=1e-3)
        for ours, kind in ((2e-3, "faster"), (4.01e-3, "tie"), (5e-3, "slower")):
            found["rows"]["add_16m"].times["Pantograph"] = race.Time(ours, ours / 100, 9)
            rows, verdicts = page.read(page.document(found))
            self.assertEqual(verdicts, {"add_16m": kind})
            again = picture.picture({"rows": {n: run.Found(t, "", 0) for n, t in rows.items()}, "verdicts": verdicts})
            self.assertEqual(again, picture.picture(found))

    def test_the_picture_is_of_the_page(self):
        """Every row of the page, each with the page's verdict, is in the picture beside it."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "docs").mkdir()
            for copied in ("docs/peers.md", "README.md"):
                (pathlib.Path(folder) / copied).write_text((ROOT / copied).read_text())
            with contextlib.redirect_stderr(io.StringIO()):
                run.draw(pathlib.Path(folder))
            drawn = (pathlib.Path(folder) / "docs" / "peers.svg").read_text()
        there = (ROOT / "docs" / "peers.svg").read_text()
        self.assertEqual([t.text for t in self.texts(drawn) if t.get("text-anchor") == "end"],
                         [t.text for t in self.texts(there) if t.get("text-anchor") == "end"])
        bars = [[r.get("class") for r in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect")]
                for svg in (drawn, there)]
        self.assertEqual(*bars)

    def test_the_readme_counts_the_same_rows(self):
        _, verdicts = page.read((ROOT / "docs" / "peers.md").read_text())
        counted = collections.Counter(verdicts.values())
        readme = " ".join((ROOT / "README.md").read_text().split())
        self.assertIn(f"the fastest in {counted['faster']} of {len(verdicts)} rows", readme)
        self.assertIn(f"in {counted['tie']} as fast as the best of them, and in {counted['slower']} slower", readme)

    def test_every_peer_has_a_colour(self):
        self.assertEqual(set(roster.PEERS), set(picture.COLOURS))


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
        self.assertEqual(set(libraries.PROGRAMS), 
                         {roster.OURS, *roster.PEERS} - {"XLA", roster.COMPILED, roster.AHEAD, roster.ONNX, roster.OPENVINO,
                                                         roster.LOADER})

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
        for name, nodes in (("chains_wide", 11001), ("sums_wide", 1089), ("chain_deep", 10002)):
            self.assertEqual(workloads.ROWS[name].per, nodes)

    def test_a_traced_row_is_the_eager_one_traced(self):
        for name, row in workloads.ROWS.items():
            if not name.endswith("_traced") or name.removesuffix("_traced") not in workloads.ROWS:
                continue
            eager = workloads.ROWS[name.removesuffix("_traced")]
            self.assertEqual((row.work, row.inputs), (eager.work, eager.inputs), name)
            self.assertEqual(row.mode, {"eager": "traced", "grad": "traced_grad", "train": "traced_train"}[eager.mode])


RESNET = workloads.resnet([1, 2], 3, 2, 17, 2)
SMALL = {"resnet": RESNET, "resnet_inference": RESNET,
         "mlp": "4x6 4:class:3 6x5:-1:1 5 5x3:-1:1 3", "cnn": "2x8x8x1:-1:1:nhwc 2:class:3 3x3x1x4:-1:1:hwio 4 3x3x4x5:-1:1:hwio 5 20x3:-1:1 3",
         "lstm": "3x4x6 4:class:3 11x20:-1:1 20 5x3:-1:1 3",
         "transformer": "16x8:-1:1 16:class:8 8 8 8x24:-1:1 24 8x8:-1:1 8 8 8 8x10:-1:1 10 10x8:-1:1 8",
         "matmul": "4x5 5x6", "quantized_matmul": "4x5:0:128 5x6:0:128", "add": "4x5 4x5", "mul": "4x5 4x5", "chain": "2x2 2x2:0.99:1.01", "bias_add": "4x5 5",
         "layer_norm": "4x5 5 5", "conv": "2x5x5x3:-1:1:nhwc 3x3x3x4:-1:1:hwio 2x5x5x4:-1:1:nhwc",
         "conv_nchw": "2x3x5x5:-1:1:nchw 3x3x3x4:-1:1:hwio_nchw 2x4x5x5:-1:1:nchw",
         "gradient_norms": "4x6 4:class:3 6x5:-1:1 5 5x3:-1:1 3", "jacobian": "4 4x5 5 5x3 3",
         "hessian_matrix": "4 4x5 5", "product": "2x3 2x3 2x3", "hessian": "2x3 2x3 2x3 2x3", "add_transposed": "4x5 5x4",
         "gpt2": "32:class:9 32:class:9 9x8:-1:1 4x8:-1:1" + 2 * (
             " 8 8 8x24:-1:1 24 8x8:-1:1 8 8 8 8x10:-1:1 10 10x8:-1:1 8") + " 8 8",
         "gpt2_writing": "1:class:9 9x8:-1:1 4x8:-1:1" + 2 * (
             " 8 8 8x24:-1:1 24 8x8:-1:1 8 8 8 8x10:-1:1 10 10x8:-1:1 8") + " 8 8",
         "map_batch": "300x8:-1:1",
         "l2hmc": workloads.L2HMC.replace("200x2", "3x2"),
         "depthwise": "2x5x5x3:-1:1:nhwc 3x3x3x1:-1:1:depthwise", "grouped": "2x5x5x4:-1:1:nhwc 3x3x2x6:-1:1:hwio",
         "conv3d": "1x3x4x4x2:-1:1:ndhwc 3x3x3x2x3:-1:1:dhwio", "max_pool": "2x7x7x3:-1:1:nhwc",
         "avg_pool": "2x7x7x3:-1:1:nhwc", "resize": "2x4x5x3:-1:1:nhwc",
         "batch_norm": "2x4x4x3:-1:1:nhwc 3:0.9:1.1 3:-0.1:0.1 3:-0.1:0.1 3:0.9:1.1",
         "batch_norm_training": "2x4x4x3:-1:1:nhwc 3:0.9:1.1 3:-0.1:0.1 3:-0.1:0.1 3:0.9:1.1",
         "top_k": "3x120:-1:1", "gather": "5x4:-1:1 7:class:5", "scatter_add": "5x4:-1:1 7:class:5 7x4:-1:1",
         "segment_sum": "7x4:-1:1 7:class:5", "embedding_bag": "9x4:-1:1 64:class:9 64:class:2:sorted",
         "unique": "20:class:6", "one_hot": "5:class:256", "where": "12:class:2:bool 12:-1:1 12:-1:1",
         "nonzero": "20:class:2:bool", "normal": "1000000:-1:1", "fft": "4x8x2:-1:1:complex",
         "fft2": "4x8x2:-1:1:complex", "rfft": "4x8:-1:1", "cholesky": "5x5:-1:1:definite", "qr": "5x5:-1:1",
         "svd": "5x5:-1:1", "eigh": "5x5:-1:1:symmetric", "solve": "5x5:-1:1:definite 5x2:-1:1",
         "sparse_dense": "12:class:5:entries 12:-1:1 5x3:-1:1",
         **dict.fromkeys(["hash", "strong_hash", "regex"], "9:class:50:text")}


LONG = {"resnet", "resnet_inference", "l2hmc", "gpt2", "normal"}
BUILD = pathlib.Path(os.environ.get("PANTO_BUILD", "")).resolve()
VENV = ROOT / "build" / "peers-venv"


def on_less(row):
    """A row that takes no time. Its tolerance stays."""
    inputs, dtype = SMALL.get(row.work, "4x5:-1:1"), dtype_of(row)
    return row._replace(inputs=workloads.narrow(inputs, dtype) if dtype else inputs)


def dtype_of(row):
    return (row.inputs.split()[0].split(":") + 4 * [""])[4]


@unittest.skipUnless("PANTO_BUILD" in os.environ, "PANTO_BUILD is not set: ./dev test sets it")
class Contestants(unittest.TestCase):
    """Each does what it is asked, and what ours does; here on less."""

    @classmethod
    def setUpClass(cls):
        cls.places = roster.Places(BUILD, ROOT / "build" / "peers", VENV)
        cls.ours = race.Contestant("ours", [str(BUILD / "benchmarks" / "panto_contestant"), "1"])

    @classmethod
    def tearDownClass(cls):
        cls.ours.close()

    def test_ours_does_every_row_and_traced_the_same(self):
        outputs = collections.defaultdict(dict)
        for row in map(on_less, workloads.ROWS.values()):
            if row.mode == "file":
                continue  # test_a_network_in_a_file has a file
            output = self.ours.prepare(row)
            self.assertTrue(output, row.name)
            self.assertGreater(self.ours.measure(0.001)[0], 0)
            kind = "gradient" if "grad" in row.mode else "training" if "train" in row.mode else "result"
            expected = outputs[row.work, dtype_of(row)].setdefault(kind, output)
            self.assertEqual(race.difference(expected, output, row), "", row.name)
            self.assertTrue(all(part.magnitude > 0 for part in output), f"{row.name}: nothing but zeros")
            if kind == "gradient":
                self.assertEqual(len(output), 2)  # the value, too: it is not left out
            if kind == "training":
                self.assertEqual(len(output[0].values), 3)
                self.assertGreater(len(output), 2)

    def test_ours_without_what_it_keeps(self):
        contestant = roster.start(self.places, 1, [roster.NO_CACHE])[0]
        row = workloads.ROWS["add_16m"]
        self.assertEqual(contestant.prepare(row), self.ours.prepare(row))
        contestant.close()
        self.assertIsNone(roster.mode(roster.NO_CACHE)(workloads.ROWS["add_8x8"]))

    def compare(self, *names):
        """Every row that they do, but those of which compiling takes minutes, unless there is time for it."""
        rows = [row for row in workloads.ROWS.values()
                if row.mode != "file" and (os.environ.get("PANTO_SLOW") or row.work not in LONG)]
        for name in names:
            contestant = roster.start(self.places, 1, [name])[0]
            done = []
            for row in rows:
                with self.subTest(contestant=name, row=row.name):
                    output = contestant.prepare(on_less(row)) if contestant.mode(row) else None
                    if not output:
                        continue
                    done.append(row.name)
                    self.assertEqual(race.difference(self.ours.prepare(on_less(row)), output, row), "")
                    self.assertGreater(contestant.measure(0.001)[0], 0)
            contestant.close()
            self.assertGreaterEqual(len(done), 4, name)

    @unittest.skipUnless((VENV / "requirements.txt").exists(), "./dev bench peers makes build/peers-venv")
    def test_a_network_in_a_file(self):
        """The smallest of them, as networks.py makes it: all who read it say the same of an image."""
        row = workloads.ROWS["mobilenet_v2_file"]
        roster.make_networks(self.places, [row.work])
        names = [roster.OURS, "TensorFlow", "XLA", roster.ONNX, roster.OPENVINO]
        contestants = roster.start(self.places, 1, names)
        outputs = {c.name: c.prepare(row) for c in contestants}
        for c in contestants:
            c.close()
        self.assertGreater(outputs[roster.OURS][0].magnitude, 1e-3)
        for name in names:
            self.assertEqual(race.difference(outputs[roster.OURS], outputs[name], row), "", name)

    def test_xtensor(self):  # which every build has
        self.compare("xtensor")

    @unittest.skipUnless(pathlib.Path("/usr/include/eigen3").exists(), "libeigen3-dev is missing: ./dev setup")
    def test_eigen(self):
        self.compare("Eigen")

    @unittest.skipUnless((VENV / "requirements.txt").exists(), "./dev bench peers makes build/peers-venv")
    def test_libraries_of_the_private_environment(self):
        self.compare("PyTorch", "MLX", "JAX", "TensorFlow", "XLA", "ONNX Runtime", "OpenVINO")

    @unittest.skipUnless((VENV / "requirements.txt").exists(), "./dev bench peers makes build/peers-venv")
    def test_the_loader(self):
        row, = [row for row in workloads.ROWS.values() if row.mode == "pipeline"]
        contestant = roster.start(self.places, 1, [roster.LOADER])[0]
        self.assertEqual(race.difference(self.ours.prepare(on_less(row)), contestant.prepare(on_less(row)), row), "")
        contestant.close()
        for name in (roster.LOADER, roster.COMPILED):
            does = [row.name for row in workloads.ROWS.values() if roster.mode(name)(row)]
            self.assertEqual(row.name in does, name == roster.LOADER)

    @unittest.skipUnless((VENV / "requirements.txt").exists(), "./dev bench peers makes build/peers-venv")
    @unittest.skipUnless(os.environ.get("PANTO_SLOW"), "compiles for minutes: ./dev test slow")
    def test_what_pytorch_compiles(self):
        self.compare(roster.COMPILED, roster.AHEAD)

    @unittest.skipUnless((VENV / "requirements.txt").exists(), "./dev bench peers makes build/peers-venv")
    def test_tuned_memory_is_kept(self):
        """Results take no new pages after the first runs, where by default they do: what the page says."""
        for name in ["PyTorch", *roster.TUNED]:
            contestant = roster.start(self.places, 1, [name])[0]
            self.assertTrue(contestant.prepare(workloads.ROWS["exp_16m"]), name)
            contestant.measure(0.05)
            before = self.faults(contestant)
            runs = len(contestant.measure(0.05))
            each = (self.faults(contestant) - before) / runs  # of 16,384 pages in 64 MB
            contestant.close()
            if name in roster.TUNED:
                self.assertLess(each, 1000, name)
            else:
                self.assertGreater(each, 10000, name)

    @staticmethod
    def faults(contestant):
        return int(pathlib.Path(f"/proc/{contestant.process.pid}/stat").read_text().rpartition(")")[2].split()[7])


if __name__ == "__main__":
    unittest.main()
