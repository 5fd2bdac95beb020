#!/usr/bin/env python3
"""Writes docs/benchmarks.md from a run of the benchmarks.

    build/release/benchmarks/panto_benchmarks --benchmark_format=json > run.json
    bench_table.py run.json [--out docs/benchmarks.md]

`./dev bench --table` does both. Times are medians where the run has repetitions. Ratios are to a goal, or to a probe:
the same work done without this library, in the same run on the same machine.
"""
import argparse
import collections
import json
import os
import pathlib
import platform
import re
import sys

NS, US, MS = 1e-9, 1e-6, 1e-3
UNITS = {"ns": NS, "us": US, "ms": MS, "s": 1.0}

Row = collections.namedtuple("Row", "name what counter goal probe", defaults=(None, None, None))

# Benchmarks by the first part of their names; a counter is the time of one item in place of one iteration's.
SECTIONS = [
    ("What a call costs", [
        Row("add_8x8", "eager add, 8x8", goal=60 * NS),
        Row("add_8x8_taped", "eager add, 8x8, under a tape", "per_op", 90 * NS),
        Row("add_literal_8x8", "eager add of a number, 8x8"),
        Row("add_broadcast_8x8", "eager add with broadcasting, 8x8"),
        Row("matmul_8x8", "eager MatMul, 8x8", goal=120 * NS),
        Row("sum_8x8", "eager sum, 8x8"),
        Row("reshape_8x8", "eager reshape, 8x8"),
        Row("read_variable", "reading a variable, 8x8"),
        Row("chain_forward", "chain of 100 multiplications, 8x8: per op", "per_op"),
        Row("chain_forward_and_backward", "the same with its gradient: per op", "per_op", 200 * NS),
        Row("chain_backward", "its backward pass alone: per op", "per_node"),
        Row("traced_call", "cached call of a traced function of one op", goal=300 * NS),
        Row("traced_chain_unfused", "traced chain of 100, nothing fused: per node", "per_node", 30 * NS),
        Row("traced_chain_fused", "the same, fused: a call", goal=1.5 * US),
        Row("traced_chain_and_gradient_fused", "the chain and its gradient, fused: a call", goal=3 * US),
        Row("traced_chain_forward_and_backward", "the chain with its gradient, nothing fused: per node", "per_node"),
        Row("trace_chain", "tracing a chain of 100: per node", "per_node"),
    ]),
    ("Conditionals, loops and queues", [
        Row("traced_cond", "traced function of a conditional of scalars: a call", goal=150 * NS),
        Row("while_scalar", "loop of 100,000 steps on scalars: a step", "per_step"),
        Row("while_scalar_gradient", "the same and its gradient: a step", "per_step", 400 * NS),
        Row("lstm_forward/loop:1/batch:64/units:256", "LSTM of 256, 16 steps, batch 64, as a loop; probe: unrolled",
            probe="lstm_forward/loop:0/batch:64/units:256"),
        Row("lstm_and_gradient/loop:1/batch:64/units:256", "the same with its gradient; probe: unrolled",
            probe="lstm_and_gradient/loop:0/batch:64/units:256"),
        Row("queue_eager", "an element into a queue and out of it, eagerly", "per_element", 1 * US),
        Row("queue_session", "the same by two runs of a session", "per_element", 1 * US),
    ]),
    ("Large work", [
        Row("matmul_square/64", "MatMul 64; probe: oneDNN's primitive", probe="onednn_square/64"),
        Row("matmul_square/256", "MatMul 256; probe: oneDNN's primitive", probe="onednn_square/256"),
        Row("matmul_square/1024", "MatMul 1024; probe: oneDNN's primitive", probe="onednn_square/1024"),
        Row("add_16m", "add of 16 M floats; probe: memcpy of as many bytes", probe="memcpy_as_add_16m"),
        Row("sum_16m", "sum of 16 M floats; probe: a loop that reads them", probe="read_16m"),
        Row("mlp_step_eager", "784-512-256-10 training step, batch 64, eager; probe: its GEMMs alone",
            goal=1.0 * MS, probe="mlp_matrix_products_alone"),
        Row("mlp_step_traced", "the same, traced", goal=0.85 * MS, probe="mlp_matrix_products_alone"),
        Row("mlp_predict_traced", "its forward pass, traced"),
        Row("load_and_plan_1m", "loading and planning a graph of a million nodes", goal=10.0),
    ]),
    ("Files and processes", [
        Row("save_small_graph/binary", "saving a small graph, .pb"),
        Row("save_small_graph/text", "saving a small graph, .pbtxt"),
        Row("load_small_graph/binary", "loading it, .pb"),
        Row("load_small_graph/text", "loading it, .pbtxt"),
        Row("load_and_run_small_graph", "loading it and the first run"),
        Row("start_command", "`panto --version`, the whole process", goal=30 * MS),
        Row("list_devices", "`panto devices`, the whole process", goal=30 * MS),
        Row("list_ops", "`panto ops`, the whole process"),
        Row("run_small_graph", "`panto run` of a small graph, the whole process", goal=30 * MS),
    ]),
]
# Families of benchmarks NAME/OP/SIZE, a column for each size; what is shown is a counter's value, where one is named.
Family = collections.namedtuple("Family", "prefix title unit counter is_time", defaults=(None, True))
FAMILIES = [
    Family("elementwise", "Elementwise ops", "elements"),
    Family("sweep", "Other ops, on square matrices", "rows"),
    Family("growth", "Growth: the time of an item (node, recorded op, call) where there are so many", "items",
           "per_item"),
    Family("growth", "Growth: bytes kept for an item", "items", "bytes_per_item", is_time=False),
]


def plain_name(name):
    """Without what Google Benchmark appends."""
    return re.sub(r"/(real_time|manual_time|process_time|repeats:\d+|iterations:\d+|min_time:[\d.]+)", "", name)


def read_runs(data):
    """{name: the run to report}, and {name: why there is none}."""
    runs, errors = {}, {}
    for entry in data["benchmarks"]:
        name = plain_name(entry.get("run_name", entry["name"]))
        if entry.get("error_occurred"):
            errors[name] = entry.get("error_message", "failed")
        elif entry.get("run_type") == "aggregate":
            if entry["aggregate_name"] == "median":
                runs[name] = entry
        else:
            runs.setdefault(name, entry)
    return {n: r for n, r in runs.items() if n not in errors}, errors


def seconds(run, counter=None):
    """As Google Benchmark reckons its rates: wall time where the benchmark asked for it, CPU time otherwise."""
    if counter:
        return run[counter]  # an inverted rate
    wall = re.search(r"/(real|manual)_time", run.get("run_name", run["name"]))
    return run["real_time" if wall else "cpu_time"] * UNITS[run["time_unit"]]


def show(t):
    for unit, size in (("s", 1.0), ("ms", MS), ("us", US)):
        if t >= size:
            break
    else:
        unit, size = "ns", NS
    value = t / size
    return f"{value:.0f} {unit}" if value >= 99.5 else f"{value:.3g} {unit}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    return lines + ["| " + " | ".join(r) + " |" for r in rows] + [""]


def section(rows, runs, errors, used):
    out = []
    for row in rows:
        used.update({row.name, row.probe})
        run = runs.get(row.name)
        if run is None:
            if row.name in errors:
                out.append([row.what, f"failed: {errors[row.name]}", "", "", "", ""])
            continue
        t = seconds(run, row.counter)
        goal = over_goal = probe = over_probe = ""
        if row.goal:
            goal, over_goal = "at most " + show(row.goal), f"{t / row.goal:.2f}"
            if t > row.goal:
                over_goal = f"**{over_goal}**"
        if row.probe in runs:
            p = seconds(runs[row.probe])
            probe, over_probe = show(p), f"{t / p:.2f}"
        out.append([row.what, show(t), goal, over_goal, probe, over_probe])
    return table(["workload", "time", "goal", "time / goal", "probe", "time / probe"], out) if out else []


def family(of, runs, used):
    found, sizes = collections.defaultdict(dict), set()
    for name, run in runs.items():
        parts = name.split("/")
        if len(parts) == 3 and parts[0] == of.prefix and (of.counter is None or of.counter in run):
            found[parts[1]][int(parts[2])] = show(seconds(run, of.counter)) if of.is_time else f"{run[of.counter]:.0f}"
            sizes.add(int(parts[2]))
            used.add(name)
    rows = [[f"`{op}`"] + [values.get(s, "") for s in sorted(sizes)] for op, values in sorted(found.items())]
    return table(["op"] + [f"{s} {of.unit}" for s in sorted(sizes)], rows) if rows else []


def cpu_model(context):
    """The run's JSON does not say it: known only where the table is written on the machine of the run."""
    if context.get("host_name") != platform.node():
        return None
    try:
        found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return found and found[1]


def machine(context, repeated):
    cpus = context["num_cpus"]
    parts = [cpu_model(context), f"{cpus} logical CPUs at {context['mhz_per_cpu']} MHz"]
    if "threads" in context:
        parts.append(f"{context['threads']} threads")
    parts += [context["date"][:10], "medians" if repeated else "one run each"]
    lines = ["Measured on: " + ", ".join(p for p in parts if p) + ".", ""]
    load = (context.get("load_avg") or [0])[0]
    if load > 0.5 * cpus:
        lines += [f"**The machine was busy (load {load:.1f}) when the run began: do not rely on these figures.**", ""]
    return lines


def document(data):
    runs, errors = read_runs(data)
    used = set()
    repeated = any(r.get("run_type") == "aggregate" for r in runs.values())
    lines = ["# Benchmarks", "",
             "Written by `./dev bench --table`; run it again rather than editing. A goal is what version 0.1 sets out to",
             "reach on two Zen 4 cores with AVX-512; a probe is the same work without this library, in the same run. Ratios",
             "over a goal are bold. Calls on small tensors are given in CPU time of their one thread, everything else in",
             "wall time.", "",
             "[peers.md](peers.md) has the same work in other libraries beside ours.", ""]
    lines += machine(data["context"], repeated)
    for title, rows in SECTIONS:
        if body := section(rows, runs, errors, used):
            lines += [f"## {title}", ""] + body
    for of in FAMILIES:
        if body := family(of, runs, used):
            lines += [f"## {of.title}", ""] + body
    if rest := [[f"`{n}`", show(seconds(r))] for n, r in runs.items() if n not in used]:
        lines += ["## Others", ""] + table(["benchmark", "time"], rest)
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="what --benchmark_format=json printed; - is standard input")
    parser.add_argument("--out", type=pathlib.Path, help="the file to write; default: standard output")
    options = parser.parse_args()
    with (sys.stdin if options.run == "-" else open(options.run)) as file:
        text = document(json.load(file))
    if not options.out:
        sys.stdout.write(text)
        return
    options.out.parent.mkdir(parents=True, exist_ok=True)
    partial = options.out.with_name(options.out.name + ".partial")
    partial.write_text(text)
    os.replace(partial, options.out)
    print(f"bench_table: wrote {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
