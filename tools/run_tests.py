#!/usr/bin/env python3
"""Runs the tests of a build folder and ends with `N passed, N failed` over all of them.

run_tests.py BUILD [--title WORDS] [--light] [--interop PYTHON | --under COMMAND] [slow] [NAME...]

The programs are those that the meson.build files declare with test(). Suite `boost`: a Boost.Test program with
tests/main.cc, which logs each case as it starts and ends; a program that crashes is one more failure, under the name
of the case it was in. Suite `script`: anything else; its last line of the form `N passed, N failed[, N skipped]` is
counted, or what Python's unittest says at the end, and without either its exit status is one test. Suite `parts`: a
script that runs a K-th part of its tests when it is told `--part K/N` (tests/run_python.py).
As many run at once as there are processors, up to four, those of high priority first; a program of many cases runs as
several processes.

A NAME is a test program, or else a Boost.Test filter (graph/import, @label). Suites with the label `slow` run only
when they are named, or all are with `slow`.
With --interop the scripts of tests/interop run instead, under that Python.
With --under the programs of suite `boost` run alone, each under that command: an emulator of the machine that they were
built for. Then and with --light the label `heavy`, of more arithmetic than an emulator or unoptimized code does in a
minute, means what `slow` does; and with --under so does `native`, of what QEMU cannot do, as to fork a process with
threads, or does in no reasonable time.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)

MANY_CASES = 1000  # from here on a program is worth being divided
LINES_OF_A_CRASH = 40  # that are shown again at the end
PARTS_OF_WORKER = 3  # parts take different times: with several for each worker the last ones end together

SANITIZERS = {
    # g++ 12's runtime takes one thread-local block in 256 for one of an older C library, reads an address from before it,
    # and the leak checker dies at it (https://github.com/google/sanitizers/issues/1322): not where it sees no such block.
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:strict_string_checks=1:allocator_may_return_null=1"
                    ":intercept_tls_get_addr=0"
                    # A fifth of the time went into writing down who asked for each block of memory, thirty callers deep.
                    ":malloc_context_size=8:quarantine_size_mb=64",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=0:exitcode=66:second_deadlock_stack=1",
    "LSAN_OPTIONS": f"print_suppressions=0:suppressions={ROOT}/tools/lsan-suppressions.txt",
}


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = dataclasses.field(default_factory=list)
    shown: list = dataclasses.field(default_factory=list)  # lines of its output

    def __iadd__(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.shown += other.shown
        return self

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def how_it_ended(status):
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def count_script(output):
    """The count that a script printed: our line, or the closing lines of Python's unittest; None if neither."""
    if found := SUMMARY.findall(output):
        return Count(*(int(n or 0) for n in found[-1]))
    if not (ran := re.findall(r"^Ran (\d+) tests? in", output, re.MULTILINE)):
        return None
    said = re.findall(r"^(?:OK|FAILED)(?: \((.*)\))?$", output, re.MULTILINE)
    numbers = {k.strip(): int(v) for k, v in re.findall(r"([a-z ]+)=(\d+)", said[-1] if said else "")}
    failed = sum(numbers.get(k, 0) for k in ("failures", "errors", "unexpected successes"))
    skipped = numbers.get("skipped", 0)
    return Count(max(0, int(ran[-1]) - failed - skipped), failed, skipped)


def last_words(errors):
    """Of what a crashed program wrote: the beginning of a sanitizer's report, else the end."""
    lines = errors.splitlines()
    reports = [i for i, line in enumerate(lines) if re.search(r"==ERROR: |runtime error: |WARNING: ThreadSanitizer", line)]
    return lines[reports[0]:][:LINES_OF_A_CRASH] if reports else lines[-LINES_OF_A_CRASH:]


def run_boost(name, command, environment, timeout, filters):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "cases"
        arguments = ["--log_level=error", "--report_level=no", "--catch_system_errors=no", "--color_output=no"]
        arguments += [f"--run_test={f}" for f in filters]
        sys.stdout.flush()
        process = subprocess.Popen(command + arguments, env=environment | {"PANTO_TEST_LOG": str(log)}, text=True,
                                   errors="replace", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, errors = process.communicate(timeout=timeout)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
            status = None
        if "no test cases matching filter" in errors or "test tree is empty" in errors:
            return None
        sys.stderr.write(errors)
        count, current, skipped = Count(), None, collections.Counter()
        for line in log.read_text().splitlines() if log.exists() else []:
            what, case = line.split(" ", 1)
            if what == "start":
                current = case
            elif what == "pass":
                count.passed, current = count.passed + 1, None
            elif what == "fail":
                count.failed, current = count.failed + 1, None
                count.failures.append(f"{name}: {case}")
            elif what == "skip":
                count.skipped += 1
                skipped["cases: " + case.rpartition(": ")[2]] += 1
            elif what == "skip-suite":  # all of it, whatever it has
                count.shown.append(f"{name}: skipped the suite {case}")
    count.shown += [f"{name}: skipped {number} {reason}" for reason, number in skipped.items()]
    ended = f"did not end within {timeout} s" if status is None else how_it_ended(status)
    crash = None
    if current is not None:
        crash = f"{name}: {current}: {ended}; the cases after it did not run"
    elif status is None or (status != 0 and count.failed == 0):
        crash = f"{name}: {ended}, outside any test case"  # before the first case, after the last one, or a leak
    if crash is not None:
        count.failed += 1
        count.failures.append("\n  ".join([crash, *last_words(errors)]))
    return count


def run_script(name, command, environment, timeout):
    sys.stdout.flush()
    try:
        result = subprocess.run(command, env=environment, timeout=timeout, stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        status, output = result.returncode, result.stdout
    except subprocess.TimeoutExpired as error:
        status, output = None, (error.stdout or b"").decode(errors="replace")
    ended = f"did not end within {timeout} s" if status is None else how_it_ended(status)
    count = count_script(output) or Count(passed=int(status == 0))
    if count.failed:
        count.failures.append(f"{name}: {count.failed} failed")
    elif status != 0:
        count.failed += 1
        count.failures.append(f"{name}: {ended}")
    lines = [line for line in output.splitlines() if not SUMMARY.match(line)]
    count.shown = lines if count.failed else [line for line in lines if "skipped" in line]
    return count


def for_names(command, filters):
    """A program's command without the suites that it is declared with, where others are asked for: Boost.Test would run
    both."""
    return [word for word in command if not (filters and word.startswith("--run_test="))]


def cases_of(command, environment):
    """{suite: {suite or case in it: number of cases}} of a Boost.Test program."""
    listed = subprocess.run([*command, "--list_content"], env=environment, text=True,
                            stderr=subprocess.PIPE, errors="replace").stderr
    units = [(len(m[1]) // 4, m[2]) for m in re.finditer(r"^((?: {4})*)(\S.*?)\*?$", listed, re.MULTILINE)]
    cases, suite, inner = {}, None, None
    for (depth, name), (depth_after, _) in zip(units, units[1:] + [(0, "")]):
        if depth == 0:
            suite = cases.setdefault(name, collections.Counter())
            continue
        inner = name if depth == 1 else inner
        if depth_after <= depth:  # nothing is in it: a case
            suite[inner] += 1
    return cases


def parts_of(command, environment, number):
    """Commands that run the cases of a Boost.Test program in so many parts: all but the first run a part of its largest
    suite; the first runs what is left. Where its declaration chooses suites it stays whole."""
    cases = cases_of(command, environment) if number > 1 and command == for_names(command, ["x"]) else {}
    suite = max(cases, key=lambda name: cases[name].total(), default=None)
    total = sum(inner.total() for inner in cases.values())
    if total < MANY_CASES or any(set(name) & set("*,/!@+:") for name in cases[suite]):
        return [command]
    parts, part, size = [], [], 0
    for name, inside in cases[suite].items():
        part.append(name)
        size += inside
        if size >= total / number:
            parts.append(f"{suite}/{','.join(part)}")
            part, size = [], 0
    parts = parts[:number - 1]
    return [command + [f"--run_test=!{part}" for part in parts], *(command + [f"--run_test={part}"] for part in parts)]


def declared_tests(build):
    text = subprocess.run(["meson", "introspect", "--tests", str(build)], check=True, capture_output=True, text=True)
    return json.loads(text.stdout)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--title", default="tests")
    parser.add_argument("--interop", metavar="PYTHON")
    parser.add_argument("--under", metavar="COMMAND", type=shlex.split, default=[])
    parser.add_argument("--light", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    build, names = options.build.resolve(), options.names
    os.chdir(build)  # Meson writes programs' arguments as seen from there
    environment = dict(os.environ)
    environment.pop("PANTO_TALLY", None)  # for our own count only
    environment.update({k: v for k, v in SANITIZERS.items() if k not in environment})
    environment["PANTO"] = str(build / "apps" / "panto")
    environment["PANTO_BUILD"] = str(build)
    environment.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait leave the processor to other tests
    environment["XDG_CACHE_HOME"] = str(build / "cache")  # not the user's

    total = Count()
    began = time.monotonic()

    def report(name, count, seconds):
        for line in count.shown:
            print(f"  {line}")
        print(f"{name}: {count.passed} of {count.passed + count.failed} passed ({seconds:.1f} s)", flush=True)
        total.__iadd__(count)

    if options.interop:
        command = [options.interop, str(ROOT / "tests/interop/run.py"), *names]
        report("interop", run_script("interop", command, environment, 3600), time.monotonic() - began)
    else:
        tests = declared_tests(build)
        known = {t["name"] for t in tests}
        slow = "slow" in names
        names = [n for n in names if n != "slow"]
        if slow:
            environment["PANTO_SLOW"] = "1"
        programs = [n for n in names if n in known]
        filters = [n for n in names if n not in known]
        left_out = ["!@slow"] + ["!@heavy"] * bool(options.under or options.light) + ["!@native"] * bool(options.under)
        chosen = filters or ([] if slow else left_out)
        workers = min(4, os.cpu_count())

        def jobs(test):
            """Functions that run a test, each a part of it."""
            surroundings, timeout = environment | test["env"], test["timeout"]
            boost = any(suite.endswith("boost") for suite in test["suite"])
            if programs and test["name"] not in programs or not boost and (options.under or filters and not programs):
                return []
            if not boost:
                divided = workers > 1 and any(suite.endswith("parts") for suite in test["suite"])
                number = PARTS_OF_WORKER * workers if divided else 1
                commands = [test["cmd"] + [f"--part={k}/{number}"] * (number > 1) for k in range(1, number + 1)]
                return [lambda c=c: run_script(test["name"], c, surroundings, timeout) for c in commands]
            command = options.under + for_names(test["cmd"], filters)
            commands = [command] if filters else parts_of(command, surroundings, PARTS_OF_WORKER * workers)
            return [lambda c=c: run_boost(test["name"], c, surroundings, timeout, chosen) for c in commands]

        def timed(job):
            start = time.monotonic()
            return job(), time.monotonic() - start

        results, took = {}, collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            names_of = {pool.submit(timed, job): test["name"]
                        for test in sorted(tests, key=lambda test: -test["priority"]) for job in jobs(test)}
            to_come = collections.Counter(names_of.values())
            for future in concurrent.futures.as_completed(names_of):
                name, (count, seconds) = names_of[future], future.result()
                to_come[name] -= 1
                took[name] += seconds
                if count is not None:
                    results.setdefault(name, Count()).__iadd__(count)
                if name in results and not to_come[name]:
                    report(name, results[name], took[name])
        matched = results or not filters
        if not matched:
            total.failed += 1
            total.failures.append(f"no test is called {' '.join(filters)}")

    for failure in total.failures:
        print(f"FAILED {failure}")
    if tally := os.environ.get("PANTO_TALLY"):  # .ci/run adds up several runs
        with open(tally, "a") as file:
            file.write(f"{total.passed} {total.failed} {total.skipped}\n")
        print(f"{options.title} done: {total}")
    else:
        print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
