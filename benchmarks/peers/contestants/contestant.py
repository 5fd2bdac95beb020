"""A contestant of `./dev bench peers` in Python: the protocol of contestant.h."""
import gc
import os
import pathlib
import sys
import time

import ml_dtypes
import numpy as np


def fractions(count, seed):
    """As contestant.h has them."""
    z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 40)) * np.uint64(0x9e3779b97f4a7c15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def input_array(text, seed):
    """The numbers that a text such as `64x784:-1:1` or `64:class:10` stands for, as contestant.h has them. A layout,
    `form_of`, changes nothing; quint8 is uint8 here."""
    parts = text.split(":")
    dims, low, high, form, dtype = parts + (5 - len(parts)) * [""]
    low, high = low or "0", high or "1"
    shape = [int(d) for d in dims.split("x")]
    values = fractions(int(np.prod(shape)), seed).reshape(shape)
    if low == "class":
        classes = (values * float(high)).astype(np.int32)
        in_order = (np.arange(len(classes)) * int(high) // len(classes)).astype(np.int32)
        return {"sorted": lambda: in_order, "bool": lambda: classes != 0,
                "entries": lambda: np.stack([in_order, classes], 1),
                "text": lambda: np.array([f"item {c}" for c in classes], object)}.get(form, lambda: classes)()
    floats = (float(low) + (float(high) - float(low)) * values).astype(np.float32)
    if form in ("symmetric", "definite"):
        m = floats.astype(np.float64)
        turned = m.swapaxes(-1, -2)
        m = m @ turned / shape[-1] + np.eye(shape[-1]) if form == "definite" else (m + turned) / 2
        return m.astype(np.float32)
    if form == "complex":
        return floats.view(np.complex64)[..., 0]
    types = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "quint8": np.uint8, "": np.float32}
    return floats.astype(types[dtype], copy=False)


def form_of(text):
    """The layout that the text of an input names, "" if none."""
    return (text.split(":") + 4 * [""])[3]


def network_file(work, ending):
    """Where a network is that networks.py made."""
    return pathlib.Path(os.environ["PEERS_NETWORKS"]) / f"{work}.{ending}"


def chain(x, factor):
    for _ in range(100):
        x = x * factor
    return x


def product(x, *factors):
    for factor in factors:
        x = x * factor
    return x


def log_exp(log, exp):
    """20 times log(exp(x)), by a library's functions."""
    def of(x):
        for _ in range(20):
            x = log(exp(x))
        return x
    return of


class Workload:
    def __init__(self, run, host, output=None, wait=None, close=lambda: None):
        """`run()` starts the work; `wait` waits for what it gave; `host` does, too, and makes an array of it, or a list
        of some (without a copy, where it stands for `wait`); `output()`: of one run; `close()` ends what runs began."""
        self.run, self.host, self.wait, self.close = run, host, wait or host, close
        self.output = output or (lambda: host(run()))


def training(step, host, parameters, wait=None):
    """`step()` gives the loss, `parameters()` what is trained, as arrays. Its output is the losses of three steps, and by
    how much each parameter changed in the first."""
    def output():
        before = [np.array(p, dtype=np.float32) for p in parameters()]
        losses = [float(host(step()))]
        changes = [np.asarray(after, np.float32) - was for was, after in zip(before, parameters())]
        losses += [float(host(step())) for _ in range(2)]
        return [np.array(losses, np.float32), *changes]
    return Workload(step, host, output, wait)


def floats(part):
    """As numbers: complex ones as their parts, a text as a sum of its bytes, each by its place."""
    part = np.asarray(part)
    if part.dtype.kind in "OS":
        return np.array([sum((at + 1) * byte for at, byte in enumerate(bytes(t))) for t in part.ravel()], np.float32)
    if part.dtype.kind == "c":
        return np.ascontiguousarray(part.astype(np.complex64)).view(np.float32).ravel()
    return part.astype(np.float32).ravel()


def compared(work, output):
    """As contestant.h has it."""
    parts = [floats(p) for p in (output if isinstance(output, (list, tuple)) else [output])]
    if work == "normal":
        v = parts[0].astype(np.float64)
        return [np.array([len(v), 1 + v.mean(), (v * v).mean(), 1 + (v**3).mean(), (v**4).mean()], np.float32)]
    if work in ("qr", "svd", "eigh"):
        return [np.abs(p) for p in parts]
    if work == "unique":
        return [np.sort(parts[0]), parts[0][parts[1].astype(np.int64)]]
    return parts


COMPARED, COMPARED_OF_PART = 4096, 64  # how many elements of an output, and in a part at least, are compared one by one


def places(count, n):
    """As contestant.h has them."""
    n = min(count, n)
    at = np.zeros(n) if count == n else fractions(n, 98)
    return ((np.arange(n) + at) * (count / max(n, 1))).astype(np.int64)


def text_of(parts):
    """As contestant.h has it."""
    each, texts = max(COMPARED_OF_PART, COMPARED // max(1, len(parts))), []
    for part in parts:
        values = part.astype(np.float64)
        means = [v.sum() / max(part.size, 1) for v in (values, np.abs(values), values * (fractions(part.size, 99) - 0.5))]
        texts.append(" ".join([str(part.size), *(f"{m:.17g}" for m in means),
                               *(f"{v:.9g}" for v in part[places(part.size, each)])]))
    return " ; ".join(texts)


def measure(work, seconds):
    def batch(runs):
        start = time.perf_counter()
        for _ in range(runs):
            result = work.run()
        work.wait(result)
        return time.perf_counter() - start

    start = time.perf_counter()
    while time.perf_counter() - start < seconds / 5:
        once = batch(1)
        if once > 5 * seconds:
            return f"times {once:.9g}"  # for more there is no time
    runs = 1
    while batch(runs) < 1e-3:
        runs *= 2
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < (5 if len(times) < 5 else 1) * seconds:
        times.append(batch(runs) / runs)
    return "times " + " ".join(f"{t:.9g}" for t in times)


def serve(make):
    """`make(WORK, MODE, arrays, forms)` is the workload, or None; `forms`: the layouts that inputs name."""
    current = None
    gc.freeze()  # what libraries made when they were imported is not looked at
    for line in sys.stdin:
        verb, *rest = line.split()
        try:
            if verb == "prepare":
                work, mode, *inputs = rest
                arrays = [input_array(text, i + 1) for i, text in enumerate(inputs)]
                if current:
                    current.close()
                current = None  # its memory first
                gc.collect()
                current = make(work, mode, arrays, [form_of(text) for text in inputs])
                print(f"ready {text_of(compared(work, current.output()))}" if current else "none", flush=True)
            elif verb == "measure" and current:
                print(measure(current, float(rest[0])), flush=True)
            else:
                print(f"error expected prepare or measure, got {line.strip()}", flush=True)
        except Exception as error:  # whatever a library throws
            print("error", str(error).replace("\n", " ")[:300], flush=True)
