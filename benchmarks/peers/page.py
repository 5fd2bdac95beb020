"""docs/peers.md: what a run of the suite found."""
import textwrap

from roster import LIMIT, OURS, TRACED
from workloads import SECTIONS

INTRODUCTION = """\
# Side by side

Written by `./dev bench peers --table`; run it again rather than editing. The same work in Pantograph and in other
libraries, one after the other in one run.

![How much faster or slower than the best peer](peers.svg)
"""

METHOD = """\
- Times are medians of batches of at least a millisecond, of one run each where that is longer; ± is half the distance
  between the quartiles, where it is over 5 %. Each library is measured twice, in the order A B C ... C B A, for a
  third of a second each time; what takes five times as long is run once each time.
- Before it is timed, a library's output must be ours within a tolerance: number of elements, mean, mean magnitude, and
  a mean with weights. A training step's output are the losses of three steps.
- All processes are bound to as many processors as threads are counted here; OpenMP and BLAS are told in the
  environment, PyTorch, TensorFlow, Eigen and Pantograph by their own calls. XLA is not told: it finds those processors.
- Inputs are the same float32 numbers, rounded to bfloat16 in rows that say so. What starts work and returns (JAX, MLX)
  is waited for at the end of a batch.
- The ratio is our time by that of the best peer in the row, which is named; bold: we are slower.
- A limit is what the machine can do: memory read and written by loops that do nothing else, in huge pages and with
  stores past the caches, or the arithmetic alone by oneDNN's own primitives.
- "traced" is the same call of ours as a traced function; bold: slower than eager in this race, where a machine may have
  been slower meanwhile.

What is not comparable:

- JAX, TensorFlow and XLA are called from Python, as their users call them: rows of small tensors have the interpreter
  in them. PyTorch and MLX are called from C++. PyTorch compiles functions in Python only: it has no figures in rows of
  traced functions.
- JAX and MLX have no tape: they make a gradient by transforming the function, anew at each eager call, and recording
  alone has no figure.
- MLX compiles kernels by the C++ compiler before what is timed here: tracing anew finds them.
- Large results are new memory at each run. Where huge pages are for those who ask (madvise), Pantograph does; most
  others do not by default, and pay for each page of 4 KiB. In Eigen and xtensor the result is the same memory each
  time, as one writes it there.
- Eigen and xtensor are compiled for this processor (`-O3 -march=native`, xtensor with xsimd, OpenMP and OpenBLAS);
  everything else chooses at run time.
- Of an expression of several ops Eigen and xtensor make one loop when it is compiled: GELU is compared with traced
  functions.
- Graphs in a session have no feeds, and neither library rewrites them. Our plans have no steps for NoOp and Identity
  nodes: those rows say what TensorFlow's executor spends on a node, and that we spend nothing.
- XLA makes x of log(exp(x)). Compiling L2HMC's ten unrolled steps takes it minutes, so it has no figure there; JAX has
  them, like the steps of LSTM, as a scan.
- MLX has no figure for ResNet-50: its convolutions take seconds each.
- Eigen uses several threads in products only, MLX in nothing: its wheel for CPUs comes with the reference BLAS.
"""


GPU_INTRODUCTION = """\
# Side by side on a GPU

Written by `./dev bench peers --gpu --table` on a machine with a GPU; run it again rather than editing. The same work in
Pantograph, in PyTorch (eager; compiled in rows of traced functions) and in JAX (eager; jitted), one after the other in
one run. All tensors are on the GPU; a batch of runs is over when the GPU has done it.
"""

GPU_METHOD = """\
- Times are medians of batches of at least a millisecond, of one run each where that is longer; ± is half the distance
  between the quartiles, where it is over 5 %. Each library is measured twice, in the order A B C ... C B A.
- Before it is timed, a library's output must be ours within a tolerance: number of elements, mean, mean magnitude, and
  a mean with weights. A training step's output are the losses of three steps.
- Products and convolutions are of float32 everywhere (TF32 is off in PyTorch, precision is "highest" in JAX).
- PyTorch and JAX are called from Python, as their users call them, Pantograph from C++: rows of small tensors have the
  interpreter in them.
- The ratio is our time by that of the best peer in the row, which is named; bold: we are slower. "traced" is the same
  call of ours as a traced function; bold: slower than eager.
- Convolutions here are products of patches by cuBLAS; PyTorch and JAX have cuDNN.
"""

LIBRARIES = """\
A program that adds two vectors and prints the sum: compiling it (`g++ -std=c++20 -c`, with the library's main header),
and running it, from the start of the process to its end. Then the size of the shared libraries that the library's
process in this suite had loaded, without those of every C++ program.
"""


TURNS = """\
The same calls as a traced function: its time by that of eager calls, both measured in one process, a batch of one and a
batch of the other in turns. Median, and the quartiles; bold: slower by more than they tell apart.
"""


def show(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size * 0.9995:
            break
    else:
        unit, size = "ns", 1e-9
    value = seconds / size
    return f"{value:.0f} {unit}" if value >= 99.5 else f"{value:.3g} {unit}"


def best_peer(times):
    """(name, Time) of the fastest that is neither ours nor a limit; None where there is none."""
    peers = {n: t for n, t in times.items() if n not in (OURS, TRACED, LIMIT)}
    name = min(peers, key=lambda n: peers[n].median, default=None)
    return name and (name, peers[name])


def cell(time):
    share = time.spread / time.median
    return show(time.median) + (f" ±{100 * share:.0f} %" if share > 0.05 else "")


def clearly_slower(a, b):
    """Whether their spreads do not explain that `a` took longer."""
    return a.median - a.spread > b.median + b.spread


def table(rows, results, names):
    """Lines of Markdown; contestants that do nothing in these rows have no column."""
    found = [(row, results[row.name]) for row in rows if results.get(row.name)]
    present = [n for n in names if any(n in times for _, times in found)]
    columns = [n for n in present if n != LIMIT]
    head = ["work", *columns, "ours / best peer", *(["limit (ours / limit)"] if LIMIT in present else [])]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for row, times in found:
        ours, best = times.get(OURS), best_peer(times)
        cells = [row.what]
        for name in columns:
            text = cell(times[name]) if name in times else ""
            slower = name == TRACED and name in times and ours and clearly_slower(times[name], ours)
            cells.append(f"**{text}**" if slower else text)
        if ours and best:
            ratio = ours.median / best[1].median
            text = f"{ratio:.2f}" if ratio < 99.5 else f"{ratio:.0f}"
            cells.append(f"**{text}** ({best[0]})" if ratio > 1 else f"{text} ({best[0]})")
        else:
            cells.append("")
        if LIMIT in present:
            limit = times.get(LIMIT)
            cells.append(f"{show(limit.median)} ({ours.median / limit.median:.2f})" if ours and limit else "")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def turns_table(turns):
    lines = ["| work | traced / eager | quartiles |", "|---|---:|---:|"]
    for row in (row for _, rows in SECTIONS for row in rows if row.name in turns):
        low, median, high = turns[row.name]
        text = f"{median:.2f}"
        lines.append(f"| {row.what} | {f'**{text}**' if low > 1 else text} | {low:.2f} to {high:.2f} |")
    return lines


def libraries_table(costs):
    lines = ["| library | compiling | start | shared libraries |", "|---|---:|---:|---:|"]
    for name, cost in costs.items():
        cells = [show(cost[what]) if what in cost else "" for what in ("compile", "start")]
        cells.append(f"{cost['loaded'] / 1e6:.0f} MB" if "loaded" in cost else "")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def document(run):
    """`run`: what run.py saves."""
    gpu = run.get("gpu")
    machine = [gpu, run["date"]] if gpu else [run["cpu"], f"{run['threads']} threads",
                                              f"transparent huge pages: {run['huge_pages']}", run["date"]]
    versions = [f"{name} {version}" for name, version in run["versions"].items()]
    lines = [GPU_INTRODUCTION if gpu else INTRODUCTION, textwrap.fill(f"Measured on: {', '.join(machine)}. {', '.join(versions)}.", 120), ""]
    if run["load"] > 0.2:
        lines += [f"**Other programs kept {run['load']:.1f} processors busy: do not rely on these figures.**", ""]
    for title, rows in SECTIONS:
        if any(run["rows"].get(row.name) for row in rows):
            lines += [f"## {title}", "", *table(rows, run["rows"], run["names"]), ""]
    if run["turns"]:
        lines += ["## Traced beside eager", "", TURNS, *turns_table(run["turns"]), ""]
    if run["libraries"]:
        lines += ["## Libraries", "", LIBRARIES, *libraries_table(run["libraries"]), ""]
    if run["complaints"]:
        lines += ["Left out:", "", *(f"- {text}" for text in run["complaints"]), ""]
    lines += ["## How it is measured", "", GPU_METHOD if gpu else METHOD]
    return "\n".join(lines)
