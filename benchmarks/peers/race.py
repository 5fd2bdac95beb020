"""Contestants and how they are timed: who computes something else is not timed; then they run one after the other in
the order A B C ... C B A, so that a machine that becomes slower is slow for all."""
import collections
import statistics
import subprocess
import sys

# The median of a batch's time, and half the distance between its quartiles.
Time = collections.namedtuple("Time", "median spread batches")


class Refused(Exception):
    """What a contestant says instead of a result."""


class Contestant:
    """A program that speaks the protocol of contestant.h. `limit`: its outputs mean nothing, only its times do.
    `mode(row)`: what it is asked for in place of the row's mode; None: it does not take part."""

    def __init__(self, name, command, environment=None, limit=False, mode=lambda row: row.mode):
        self.name, self.limit, self.mode = name, limit, mode
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().split()
        except BrokenPipeError:
            answer = []
        if not answer:
            raise Refused(f"it ended with status {self.process.wait()} when asked to {line.split()[0]}")
        verb, *rest = answer
        if verb == "error":
            raise Refused(" ".join(rest))
        return verb, rest

    def prepare(self, row):
        """What its output looks like: count, mean, mean magnitude, weighted mean. None if it does not do this."""
        mode = self.mode(row)
        verb, rest = self.ask(f"prepare {row.work} {mode} {row.inputs}") if mode else ("none", [])
        return None if verb == "none" else [float(r) for r in rest]

    def measure(self, seconds):
        return [float(t) for t in self.ask(f"measure {seconds}")[1]]

    def turns(self, seconds, mode):
        """What was prepared, in another mode: its time by that of the first, batch by batch. None if there is no such."""
        verb, rest = self.ask(f"turns {seconds} {mode}")
        return None if verb == "none" else [float(r) for r in rest]

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it had ended, with a question unread
        self.process.stdout.close()
        self.process.wait()


def agree(a, b, tolerance):
    """Two outputs' summaries: equal within `tolerance` of the mean magnitude."""
    return a[0] == b[0] and all(abs(x - y) <= tolerance * max(a[2], 1e-30) for x, y in zip(a[1:], b[1:]))


def time_of(times, per=1):
    if len(times) == 1:
        return Time(times[0] / per, 0.0, 1)
    low, middle, high = statistics.quantiles(times, n=4)
    return Time(middle / per, (high - low) / 2 / per, len(times))


def race(row, contestants, seconds, complain=lambda text: print(text, file=sys.stderr)):
    """{name: Time}. The first contestant's output is what the others' must be."""
    times, racing, expected = collections.defaultdict(list), [], None
    for c in contestants:
        try:
            output = c.prepare(row)
        except Refused as refused:
            complain(f"{row.name}: {c.name} fails: {refused}")
            continue
        if output is None:
            continue
        if not c.limit:
            expected = expected or output
            if not agree(expected, output, row.tolerance):
                complain(f"{row.name}: {c.name} computes something else: {output}, not {expected}")
                continue
        racing.append(c)
    failed = set()
    for c in [*racing, *reversed(racing)]:
        if c.name in failed:
            continue
        try:
            times[c.name] += c.measure(seconds)
        except Refused as refused:
            complain(f"{row.name}: {c.name} fails: {refused}")
            failed.add(c.name)
    return {name: time_of(t, row.per) for name, t in times.items() if name not in failed}


# The mode in which our traced function does what a row has it do eagerly.
AS_TRACED = {"eager": "traced", "grad": "traced_grad", "train": "traced_train"}


def traced_by_eager(row, ours, seconds, complain):
    """Quartiles of a traced function's time by that of the same calls without, both measured in turns; None where
    there is no such pair, or no time for two turns. `ours` has been prepared for the row."""
    if row.mode not in AS_TRACED:
        return None
    try:
        ratios = ours.turns(seconds, AS_TRACED[row.mode])
    except Refused as refused:
        complain(f"{row.name}: {ours.name} in turns fails: {refused}")
        return None
    return statistics.quantiles(ratios, n=4) if ratios and len(ratios) > 1 else None
