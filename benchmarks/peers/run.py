#!/usr/bin/env python3
"""The same work in Pantograph and its peers, side by side. `./dev bench peers` calls this."""
import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

import libraries
import page
import picture
import race
import roster
from workloads import GPU, ROWS, SECTIONS

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURED = pathlib.Path(__file__).resolve().parent / "measured"  # what pages are made of: NAME.json is docs/NAME.md's


MOST_MEMORY = 3 << 29  # bytes that a contestant may keep from one row to the next

# The widest of these that a processor has is named beside its model: of one model's name there are several kinds.
VECTORS = {"avx512_bf16": "AVX-512 BF16", "avx512f": "AVX-512", "avx2": "AVX2"}


def cpu_model(description=pathlib.Path("/proc/cpuinfo")):
    try:
        text = description.read_text()
    except OSError:
        text = ""
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    flags = re.search(r"^flags\s*: (.*)$", text, re.MULTILINE)
    widest = [name for flag, name in VECTORS.items() if flags and flag in flags[1].split()][:1]
    return " with ".join([model[1] if model else platform.machine(), *widest])


def gpu_model():
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(query, capture_output=True, text=True).stdout.strip() or "?"
    except OSError:
        raise SystemExit("peers: there is no GPU here, or no nvidia-smi") from None


def huge_pages():
    """Which memory the kernel gives in pages of 2 MiB: [always], [madvise] (that of who asks) or [never]."""
    try:
        return re.search(r"\[(\w+)\]", pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text())[1]
    except (OSError, TypeError):
        return "unknown"


def processor_times():
    """Seconds that all processors were busy since the machine started."""
    user, nice, system, _, _, irq, softirq, steal = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_times(pids):
    """Seconds that these processes were busy, with those that they waited for, and this one."""
    ticks = 0
    for pid in [*pids, os.getpid()]:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Load:
    """How many processors others than these processes keep busy from its making on."""

    def __init__(self, pids):
        self.pids, self.start = pids, time.monotonic()
        self.before = processor_times() - own_times(pids)

    def processors(self):
        busy = processor_times() - own_times(self.pids) - self.before
        return max(0.0, busy / max(time.monotonic() - self.start, 1e-3))


# A row as it was measured: {contestant: Time}, when, and how many processors others kept busy meanwhile.
Found = collections.namedtuple("Found", "times date load")


def found_of(saved):
    """Of one row as JSON has it."""
    times, date, load = saved
    return Found({name: race.Time(*time) for name, time in times.items()}, date, load)


def other_place(kept, place):
    """What was another where the rows that are kept were measured: rows of two machines or versions make no table."""
    return [f"{what} was {kept.get(what)}, is {place[what]}" for what in place if kept and kept.get(what) != place[what]]


def write(path, text):
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text)
    os.replace(partial, path)
    print(f"peers: wrote {path}", file=sys.stderr)


def count_in_readme(readme, verdicts):
    """The README's sentence that counts the page's rows by verdict."""
    counted = collections.Counter(verdicts.values())
    text, times = re.subn(
        r"the(\s+)fastest(\s+)in(\s+)\d+(\s+of\s+)\d+(\s+rows.+?in\s+)\d+(\s+as\s+fast.+?in\s+)\d+(\s+slower)",
        lambda m: f"the{m[1]}fastest{m[2]}in{m[3]}{counted['faster']}{m[4]}{len(verdicts)}{m[5]}{counted['tie']}{m[6]}"
                  f"{counted['slower']}{m[7]}", readme.read_text(), flags=re.DOTALL)
    if times != 1:
        raise SystemExit(f"peers: {readme}: expected one sentence that counts rows, got {times}")
    write(readme, text)


def kept_runs():
    """What is kept of runs with --table."""
    return [json.loads(path.read_text()) for path in sorted(MEASURED.glob("*.json"))]


def write_pages(runs, root=ROOT):
    """All at once: pages name each other."""
    docs = root / "docs"
    there = {page.name_of(run) for run in runs} | {name for name in page.KINDS if (docs / f"{name}.md").exists()}
    for run in runs:
        run = run | {"rows": {row: found_of(saved) for row, saved in run["rows"].items()}}
        name = page.name_of(run)
        text = page.document(run, [other for other in page.KINDS if other in there and other != name])
        write(docs / f"{name}.md", text)
        if name in page.KINDS:
            write(docs / f"{name}.svg", picture.picture(run))
        if name == "peers":  # the README has that page's picture
            count_in_readme(root / "README.md", page.read(text)[1])


def draw(root=ROOT):
    """The picture anew, of what the page says: its layout may change without a machine to measure on."""
    rows, verdicts = page.read((root / "docs" / "peers.md").read_text())
    rows = {name: Found(times, "", 0.0) for name, times in rows.items()}
    write(root / "docs" / "peers.svg", picture.picture({"rows": rows, "verdicts": verdicts}))
    count_in_readme(root / "README.md", verdicts)


def text_of(run):
    """As it is kept: a line for each row, the digits that are there to be told apart."""
    def rounded(value):
        if isinstance(value, float):
            return float(f"{value:.5g}")
        if isinstance(value, dict):
            return {key: rounded(inner) for key, inner in value.items()}
        return [rounded(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    parts = []
    for key, value in rounded(run).items():
        if isinstance(value, dict) and key in ("rows", "turns"):
            lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(inner)}" for name, inner in sorted(value.items()))
            parts.append(f"  {json.dumps(key)}: {{\n{lines}\n  }}")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__)
    for name in ("build", "own", "venv"):  # what Meson made, what is compiled here, where requirements.txt is installed
        parser.add_argument(f"--{name}", type=lambda p: pathlib.Path(p).resolve(), required=True, help=argparse.SUPPRESS)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="by default all: " + " ".join(ROWS))
    parser.add_argument("--seconds", type=float, default=0.3, help="for each contestant, twice (%(default)s)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--gpu", action="store_true", help="on the first GPU, beside PyTorch and JAX")
    parser.add_argument("--table", action="store_true",
                        help="write docs/peers.md and docs/peers.svg, or the page for such a machine as this; with workloads: "
                             "those rows anew")
    parser.add_argument("--again", action="store_true",
                        help="write all pages from what is kept of runs with --table")
    parser.add_argument("--draw", action="store_true", help="only docs/peers.svg and the README's count, of what docs/peers.md says")
    options = parser.parse_args()
    if options.draw:
        draw()
        return
    if options.again:
        if not (runs := kept_runs()):
            parser.error("there is no table yet: --table makes one")
        write_pages(runs)
        return
    gpu = gpu_model() if options.gpu else None
    saved = MEASURED / (page.name_of({"cpu": cpu_model(), "gpu": gpu}) + ".json")
    if options.table and options.workloads and not saved.exists() and (ROOT / "docs" / f"{saved.stem}.md").exists():
        parser.error(f"of docs/{saved.stem}.md only the text is here: expected no workloads named with the first --table")
    # What is not measured anew.
    kept = json.loads(saved.read_text()) if options.table and options.workloads and saved.exists() else {}
    if unknown := set(options.workloads) - set(ROWS):
        parser.error(f"expected workloads among {' '.join(ROWS)}; got {' '.join(sorted(unknown))}")
    # What a library cannot be told, it finds: as many processors as it may use.
    if not options.gpu:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    places = roster.Places(options.build, options.own, options.venv, options.gpu)
    if files := [ROWS[name].work for name in options.workloads or (() if options.gpu else ROWS) if ROWS[name].mode == "file"]:
        roster.make_networks(places, files)
    contestants = roster.start(places, options.threads)
    ours = next(c for c in contestants if c.name == roster.OURS)

    names = [c.name for c in contestants]
    date = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
    place = {"cpu": cpu_model(), "threads": options.threads, "huge_pages": huge_pages(), "gpu": gpu,
             "graphs": os.environ.get("PANTO_CUDA_GRAPHS") if options.gpu else None,
             "versions": roster.versions(places), "names": names}
    if other := other_place(kept, place):
        for c in contestants:
            c.close()
        raise SystemExit(f"peers: the table is of another place, measure it as a whole: {'; '.join(other)}")
    rows = {name: found_of(saved) for name, saved in kept.get("rows", {}).items()}
    turns = kept.get("turns", {})
    complaints = [text for text in kept.get("complaints", []) if text.partition(":")[0] not in options.workloads]
    run = place | {"date": kept.get("date", date), "rows": rows, "turns": turns, "libraries": kept.get("libraries", {}),
                   "complaints": complaints}

    def complain(text):
        print(f"peers: {text}", file=sys.stderr, flush=True)
        complaints.append(text)

    def save():
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.write_text(text_of(run))
    for name in options.workloads or (GPU if options.gpu else ROWS):
        for c in contestants:
            c.renew(MOST_MEMORY)
        load = Load([c.process.pid for c in contestants])
        times = race.race(ROWS[name], contestants, options.seconds, complain)
        rows[name] = Found(times, date, load.processors())
        print(f"{name}: " + ", ".join(f"{n} {page.show(t.median)}" for n, t in times.items()), flush=True)
        turns.pop(name, None)
        if ours.name in times and (found := race.traced_by_eager(ROWS[name], ours, options.seconds, complain)):
            turns[name] = found
        if options.table:
            save()  # who stops it here has what is there with --again
    if options.table and not options.gpu and not run["libraries"]:
        run["libraries"] = libraries.measure(places, contestants, options.threads)
    for c in contestants:
        c.close()
    print()
    for title, section in SECTIONS:
        if any(row.name in rows for row in section):
            print("\n".join([title, "", *page.table(section, rows, names, date), ""]))
    if turns:
        print("\n".join(["Traced beside eager", "", *page.turns_table(turns), ""]))
    if options.table:
        save()
        write_pages(kept_runs())


if __name__ == "__main__":
    main()
