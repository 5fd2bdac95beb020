"""docs/peers.md: what a run of the suite found."""
import re
import textwrap

from causes import CAUSES
from race import Time
from roster import OURS, PEERS, REFERENCE, TRACED, TUNED
from workloads import SECTIONS

INTRODUCTION = """\
# Side by side

Written by `./dev bench peers --table`; run it again rather than editing. The same work in Pantograph and in other
libraries: in a row all of them, one after the other.

![How much faster or slower than the best peer]({name}.svg)

{kinds}
"""

# The pages, and the processors that they are of.
KINDS = {"peers": "with AVX-512", "peers-avx2": "with AVX2 and no wider vectors", "peers-other": "without AVX2"}

METHOD = """\
- Times are medians of batches of at least a millisecond, of one run each where that is longer; ± is half the distance
  between the quartiles, where it is over 5 %. Each library is measured twice, in the order A B C ... C B A, for a
  third of a second each time; what takes five times as long is run once each time.
- Before it is timed, a library's output must be ours, element by element: a few thousand of them, anywhere in it, each
  within the row's tolerance of its own size or of the mean magnitude (a millionth where single elements are computed,
  see `benchmarks/peers/workloads.py`), and three means of all. A training step's output are the losses of three steps,
  and by how much each parameter changed in the first.
- All processes are bound to as many processors as threads are counted here; OpenMP and BLAS are told in the
  environment, PyTorch, TensorFlow, Eigen and Pantograph by their own calls. XLA is not told: it finds those processors.
- Inputs are the same float32 numbers of both signs, rounded to 16 bits in rows that say so; in rows of quint8 integers
  below 128. What starts work and returns (JAX, MLX) is waited for at the end of a batch.
- A row is measured at one time: where that is not the time at the head of the page, it says when. What other programs
  did meanwhile is counted by the kernel's figures without ours; above 0.2 processors the row says so.
- The ratio is our time by that of the best peer in the row, which is named; bold: we are slower. A difference that the
  two spreads explain is a tie.
- The reference is memory read and written by loops that do nothing else, in huge pages and with stores past the
  caches, or the arithmetic alone by oneDNN's own primitives. It is no bound: other loops and orders may be faster.
- A call "and its gradient" gives both what the function gives and the gradient.
- "traced" is the same call of ours as a traced function; bold: slower than eager in this race, where a machine may have
  been slower meanwhile.

What is not comparable:

- JAX, TensorFlow, XLA and torch.compile are called from Python, as their users call them: rows of small tensors have
  the interpreter in them. PyTorch (in inference mode where no gradient is asked for), its packages compiled ahead of
  time (AOTInductor, of functions without gradients) and MLX are called from C++.
- TensorFlow's functions are called below `tf.function`, by what it compiled: binding arguments and comparing their
  types in Python takes it 0.1 ms more at each call.
- torch.compile has no figure for tracing anew, nor for L2HMC.
- torch.compile has whole training steps, parameters written in place; JAX's steps donate their parameters.
- JAX and MLX have no tape: they make a gradient by transforming the function, anew at each eager call, and recording
  alone has no figure.
- MLX compiles kernels by the C++ compiler before what is timed here: tracing anew finds them.
- Large results are where Pantograph keeps freed blocks for the next (1 GiB of them unless `set_cache_limit` says
  otherwise), in huge pages where they are for those who ask (madvise); the column "no cache" is without what it keeps.
  Most others ask the system for new memory at each run by default, and pay for each page of 4 KiB. The column "best
  peer, tuned" is the best of PyTorch, MLX, JAX and TensorFlow where the allocator of the C library keeps all memory and
  asks for huge pages (GLIBC_TUNABLES, as `benchmarks/peers/roster.py` has them). In Eigen and xtensor the result is the
  same memory each time, as one writes it there.
- ONNX Runtime and OpenVINO are called from Python with models of one operator, in float32 and with channels first, as
  ONNX has them; where the row says so, weights are constants of the model and of our traced function, else its inputs.
- Networks in files are Keras's, with weights that a seed draws, as `benchmarks/peers/networks.py` makes them.
  Pantograph, TensorFlow, XLA and OpenVINO read the frozen graph, ONNX Runtime what tf2onnx makes of it. PyTorch and
  JAX read neither.
- Of random numbers moments are compared, of factors that are unique but for signs magnitudes, of different elements
  which there are: libraries order them in their own ways. JAX's kernels are called under jit in all rows.
- Eigen and xtensor are compiled for this processor (`-O3 -march=native`, xtensor with xsimd, OpenMP and OpenBLAS);
  everything else chooses at run time.
- Of an expression of several ops Eigen and xtensor make one loop when it is compiled: GELU is compared with traced
  functions.
- Rows of data are read, mapped and batched by one thread. PyTorch's DataLoader (without workers) and its function of a
  row are Python, as its users write them; TensorFlow's pipeline is a graph (`tf.data`) that Python asks for batches.
- A network that writes looks at the keys and values of all tokens before, which it has kept, and goes on with what it
  says is likeliest: the order of those that are nearly as likely is the same in all.
- Graphs in a session have no feeds, and neither library rewrites them.
- XLA makes x of log(exp(x)). Compiling L2HMC's ten unrolled steps takes it minutes, so it has no figure there; JAX has
  them, like the steps of LSTM, as a scan.
- MLX has no figure for ResNet-50: its convolutions take seconds each.
- Eigen uses several threads in products only, MLX in nothing: its wheel for CPUs comes with the reference BLAS.
"""


GPU_INTRODUCTION = """\
# Side by side on a GPU

Written by `./dev bench peers --gpu --table` on a machine with an NVIDIA GPU, its driver, and nvcc (`meson setup
-Dcuda=enabled` makes its absence an error); run it again rather than editing. The same work in
Pantograph, in PyTorch (eager; compiled in rows of traced functions) and in JAX (eager; jitted), in a row one after the
other. All tensors are on the GPU; a batch of runs is over when the GPU has done it.
"""

GPU_METHOD = """\
- Times are medians of batches of at least a millisecond, of one run each where that is longer; ± is half the distance
  between the quartiles, where it is over 5 %. Each library is measured twice, in the order A B C ... C B A.
- Before it is timed, a library's output must be ours, element by element: a few thousand of them, anywhere in it, each
  within the row's tolerance of its own size or of the mean magnitude (a millionth where single elements are computed,
  see `benchmarks/peers/workloads.py`), and three means of all. A training step's output are the losses of three steps,
  and by how much each parameter changed in the first.
- Products and convolutions are of float32 everywhere (TF32 is off in PyTorch, precision is "highest" in JAX).
- PyTorch and JAX are called from Python, as their users call them, Pantograph from C++: rows of small tensors have the
  interpreter in them.
- The ratio is our time by that of the best peer in the row, which is named; bold: we are slower. A difference that the
  two spreads explain is a tie. "traced" is the same call of ours as a traced function; bold: slower than eager.
- PyTorch finds its fastest convolutions before it is timed (`cudnn.benchmark`) and has filters in its own order. In
  rows of traced functions it is compiled with `mode="reduce-overhead"`, whole training steps as well.
- JAX's training steps donate their parameters.
- Our traced functions are launched as CUDA graphs, unless the environment has PANTO_CUDA_GRAPHS=0; the line above the
  tables says how it was here.
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


def best_of(times, names):
    """(name, Time) of the fastest of these; None where there is none."""
    found = [n for n in names if n in times]
    name = min(found, key=lambda n: times[n].median, default=None)
    return name and (name, times[name])


def best_peer(times):
    return best_of(times, PEERS)


def cell(time):
    share = time.spread / time.median
    return show(time.median) + (f" ±{100 * share:.0f} %" if share > 0.05 else "")


def clearly_slower(a, b):
    """Whether their spreads do not explain that `a` took longer."""
    return a.median - a.spread > b.median + b.spread


def verdict(ours, other):
    """"slower", "faster", or "tie" where spreads explain the difference."""
    return "slower" if clearly_slower(ours, other) else "faster" if clearly_slower(other, ours) else "tie"


def ratio(ours, other, name):
    """Our time by another's, in words."""
    value = ours.median / other.median
    text = f"{value:.2f}" if value < 99.5 else f"{value:.0f}"
    return {"slower": f"**{text}** ({name})", "faster": f"{text} ({name})", "tie": f"tie, {text} ({name})"}[verdict(ours, other)]


QUIET = 0.2  # processors that others may keep busy while a row is measured


def title(row, found, date):
    """What a row is, with the date of its own run where that is another, and what else ran where that was much."""
    marks = [found.date] if found.date != date else []
    marks += [f"others kept {found.load:.1f} processors busy"] if found.load > QUIET else []
    return row.what + (f" **[{'; '.join(marks)}]**" if marks else "")


TUNED_HEAD = "best peer, tuned (ours / it)"


def table(rows, results, names, date):
    """Lines of Markdown; contestants that do nothing in these rows have no column. `date`: of the page's run."""
    rows = [(row, results[row.name]) for row in rows if row.name in results and results[row.name].times]
    present = [n for n in names if any(n in found.times for _, found in rows)]
    columns = [n for n in present if n != REFERENCE and n not in TUNED]
    tuned = any(n in TUNED for n in present)
    head = ["work", *columns, "ours / best peer", *([TUNED_HEAD] if tuned else []),
            *(["reference (ours / it)"] if REFERENCE in present else [])]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for row, found in rows:
        times = found.times
        ours, best, best_tuned = times.get(OURS), best_peer(times), best_of(times, TUNED)
        cells = [title(row, found, date)]
        for name in columns:
            text = cell(times[name]) if name in times else ""
            slower = name == TRACED and name in times and ours and clearly_slower(times[name], ours)
            cells.append(f"**{text}**" if slower else text)
        cells.append(ratio(ours, best[1], best[0]) if ours and best else "")
        if tuned:
            cells.append(f"{cell(best_tuned[1])}: {ratio(ours, best_tuned[1], TUNED[best_tuned[0]])}"
                         if ours and best_tuned else "")
        if REFERENCE in present:
            reference = times.get(REFERENCE)
            cells.append(f"{show(reference.median)} ({ours.median / reference.median:.2f})" if ours and reference else "")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def behind(results):
    """Lines for the rows in which a peer is faster, with the cause where it is known."""
    lines = []
    for row in (row for _, rows in SECTIONS for row in rows if row.name in results):
        times = results[row.name].times
        ours, best = times.get(OURS), best_peer(times)
        if ours and best and verdict(ours, best[1]) == "slower":
            text = f"{row.what}, {ours.median / best[1].median:.2f} of {best[0]}: {CAUSES.get(row.name, 'not known')}."
            lines.append(textwrap.fill(text, 118, initial_indent="- ", subsequent_indent="  "))
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


def name_of(run):
    """The page's, without its ending: one for each width of vectors that CPUs have, one for GPUs. `run`: as in `document`,
    or only its place."""
    if run.get("gpu"):
        return "gpu"
    return "peers" if "AVX-512" in run["cpu"] else "peers-avx2" if "AVX2" in run["cpu"] else "peers-other"


def introduction(name, beside):
    if name == "gpu":
        return GPU_INTRODUCTION
    kinds = [f"This is of a processor {KINDS[name]}."]
    kinds += [f"Of one {KINDS[other]}: [{other}.md]({other}.md)." for other in beside]
    return INTRODUCTION.format(name=name, kinds=" ".join(kinds))


def document(run, beside=()):
    """`run`: what run.py saves; `beside`: the names of KINDS that have pages besides this one."""
    gpu = run.get("gpu")
    if gpu:
        machine = [gpu, f"CUDA graphs {'off' if run.get('graphs') == '0' else 'on'}", run["date"]]
    else:
        pages = f"transparent huge pages: {run['huge_pages']}"
        machine = [run["cpu"], f"{run['threads']} threads", pages, run["date"]]
    versions = [f"{name} {version}" for name, version in run["versions"].items()]
    lines = [introduction(name_of(run), beside),
             textwrap.fill(f"Measured on: {', '.join(machine)}. {', '.join(versions)}.", 120), ""]
    measured = [found for found in run["rows"].values() if found.times]
    others = sorted({found.date for found in measured} - {run["date"]})
    load = max((found.load for found in measured), default=0)
    if others:
        lines += [textwrap.fill(f"Not all rows are of that run: {sum(f.date in others for f in measured)} of "
                                f"{len(measured)} were measured anew, and say when.", 120), ""]
    lines += [f"While a row was measured, other programs kept at most {load:.2f} processors busy.", ""]
    for heading, rows in SECTIONS:
        if any(row.name in run["rows"] and run["rows"][row.name].times for row in rows):
            lines += [f"## {heading}", "", *table(rows, run["rows"], run["names"], run["date"]), ""]
    if slower := behind(run["rows"]):
        lines += ["## Where another is ahead", "", *slower, ""]
    if run["turns"]:
        lines += ["## Traced beside eager", "", TURNS, *turns_table(run["turns"]), ""]
    if run["libraries"]:
        lines += ["## Libraries", "", LIBRARIES, *libraries_table(run["libraries"]), ""]
    if run["complaints"]:
        lines += ["Left out:", "", *(f"- {text}" for text in run["complaints"]), ""]
    lines += ["## How it is measured", "", GPU_METHOD if gpu else METHOD]
    return "\n".join(lines)


def read_time(text):
    """What `cell` shows, None for an empty one. A spread that is not shown is at most 5 %: taken as none."""
    found = re.match(r"(?:\*\*)?([0-9.]+) (s|ms|us|ns)(?: ±(\d+) %)?", text)
    if not found:
        return None
    median = float(found[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[found[2]]
    return Time(median, median * int(found[3] or 0) / 100, 0)


def read(text):
    """What a page shows of its rows, as {row: {contestant: Time}} and {row: verdict}: rounded as it is there."""
    rows, verdicts = {}, {}
    for heading, known in SECTIONS:
        part = re.search(rf"^## {re.escape(heading)}\n\n(\|.*?)\n\n", text, re.MULTILINE | re.DOTALL)
        if not part:
            continue
        head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in part[1].splitlines()]
        waiting = list(known)
        for what, *cells in lines:
            what = what.partition(" **[")[0]
            while waiting and waiting[0].what != what:
                waiting.pop(0)
            if not waiting:
                raise ValueError(f"{heading}: expected rows of workloads.py in their order, got '{what}'")
            row = waiting.pop(0).name
            columns = dict(zip(head[1:], cells, strict=True))
            ratio_text = columns.pop("ours / best peer")
            columns.pop(TUNED_HEAD, None)
            if reference := columns.pop("reference (ours / it)", None):
                columns[REFERENCE] = reference
            rows[row] = {name: time for name, cell in columns.items() if (time := read_time(cell))}
            verdicts[row] = {"*": "slower", "t": "tie"}.get(ratio_text[:1], "faster")
    return rows, verdicts
