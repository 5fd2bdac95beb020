"""A contestant of `./dev bench peers` in Python: the protocol of contestant.h."""
import gc
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
    """The numbers that a text such as `64x784:-1:1` or `64:class:10` stands for; after them, `bfloat16` is their type,
    and a layout changes nothing."""
    parts = text.split(":")
    dims, low, high, form = parts + ["", "0", "1", ""][len(parts):]
    shape = [int(d) for d in dims.split("x")]
    values = fractions(int(np.prod(shape)), seed).reshape(shape)
    if low == "class":
        return (values * float(high)).astype(np.int32)
    floats = (float(low) + (float(high) - float(low)) * values).astype(np.float32)
    return floats.astype(ml_dtypes.bfloat16) if form == "bfloat16" else floats


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


def training(step, host, wait=None):
    """`step()` gives the loss. Its output is the losses of three steps."""
    return Workload(step, host, lambda: [float(host(step())) for _ in range(3)], wait)


def summary(output):
    parts = output if isinstance(output, (list, tuple)) else [output]
    values = np.concatenate([np.asarray(p, dtype=np.float64).ravel() for p in parts])
    weights = fractions(values.size, 99) - 0.5
    n = max(values.size, 1)
    return " ".join([str(values.size)] + [repr(float(v.sum() / n)) for v in (values, np.abs(values), values * weights)])


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
    """`make(WORK, MODE, arrays)` is the workload, or None."""
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
                current = make(work, mode, arrays)
                print(f"ready {summary(current.output())}" if current else "none", flush=True)
            elif verb == "measure" and current:
                print(measure(current, float(rest[0])), flush=True)
            else:
                print(f"error expected prepare or measure, got {line.strip()}", flush=True)
        except Exception as error:  # whatever a library throws
            print("error", str(error).replace("\n", " ")[:300], flush=True)
