"""Contestants and how they are timed: who computes something else is not timed; then they run one after the other in
the order A B C ... C B A, so that a machine that becomes slower is slow for all."""
import collections
import os
import pathlib
import statistics
import subprocess
import sys

# The median of a batch's time, and half the distance between its quartiles.
Time = collections.namedtuple("Time", "median spread batches")


# One of the arrays of an output, as contestant.h has it: how many elements, their mean, their mean magnitude, their mean
# with weights, and a few thousand of the elements themselves.
Part = collections.namedtuple("Part", "count mean magnitude weighted values")


class Refused(Exception):
    """What a contestant says instead of a result."""


def output_of(words):
    """The parts of an output, of a contestant's answer."""
    parts = [[]]
    for word in words:
        if word == ";":
            parts.append([])
        else:
            parts[-1].append(float(word))
    return [Part(*part[:4], part[4:]) for part in parts]


def resident_bytes(pid):
    """The memory of a process; 0 if it has ended."""
    try:
        pages = pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Contestant:
    """A program that speaks the protocol of contestant.h. `reference`: its outputs mean nothing, only its times do.
    `mode(row)`: what it is asked for in place of the row's mode; None: it does not take part."""

    def __init__(self, name, command, environment=None, reference=False, mode=lambda row: row.mode):
        self.name, self.reference, self.mode = name, reference, mode
        self.command, self.environment = command, environment
        self.start()

    def start(self):
        self.holds = False
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=self.environment)

    def renew(self, most):
        """Starts it anew if it has ended, or holds more than `most` bytes: some keep all that they ever compiled."""
        if self.process.poll() is None and resident_bytes(self.process.pid) <= most:
            return
        self.close()
        self.start()

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
        """The parts of its output. None if it does not do this."""
        mode = self.mode(row)
        if not mode:
            if self.holds:
                self.ask("prepare nothing none")  # it gives back what it has of another row
                self.holds = False
            return None
        verb, rest = self.ask(f"prepare {row.work} {mode} {row.inputs}")
        self.holds = verb != "none"
        return output_of(rest) if self.holds else None

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


def difference(expected, got, row):
    """In what two outputs differ, in words; "" if in nothing. Each element that is compared must be within the row's
    tolerance of its own size, or of the mean magnitude of its part if that is more; so must the means be. Of training
    the first part are losses; the others are how parameters changed, for which the tolerance is another."""
    if len(expected) != len(got):
        return f"{len(got)} results, not {len(expected)}"
    for number, (e, g) in enumerate(zip(expected, got)):
        where = f"result {number}: " if len(expected) > 1 else ""
        tolerance = row.tolerance if number == 0 or row.changes is None else row.changes
        if e.count != g.count or len(e.values) != len(g.values):
            return f"{where}{g.count:.0f} elements, not {e.count:.0f}"

        def far(a, b):
            return not abs(a - b) <= tolerance * max(abs(a), e.magnitude)  # also of what is no number
        for at, (a, b) in enumerate(zip(e.values, g.values)):
            if far(a, b):
                off = abs(a - b) / max(abs(a), e.magnitude, 1e-300)
                return f"{where}of {len(e.values)} elements that are compared number {at} is {b:.9g}, not {a:.9g}: " \
                       f"{off:.2g} of its size, more than {tolerance:g}"
        for what in ("mean", "magnitude", "weighted"):
            a, b = getattr(e, what), getattr(g, what)
            if far(a, b):
                return f"{where}{what} {b:.9g}, not {a:.9g}"
    return ""


def largest_difference(expected, got):
    """By which share elements of two outputs differ, as `difference` counts it, the largest of each part."""
    return [max((abs(a - b) / max(abs(a), e.magnitude, 1e-300) for a, b in zip(e.values, g.values)), default=0.0)
            for e, g in zip(expected, got)]


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
        if not c.reference:
            expected = expected or output
            if wrong := difference(expected, output, row):
                complain(f"{row.name}: {c.name} computes something else: {wrong}")
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
    there is no such pair, where the two give something else, or where there is no time for two turns."""
    if row.mode not in AS_TRACED:
        return None
    try:
        traced = ours.prepare(row._replace(mode=AS_TRACED[row.mode]))
        eager = ours.prepare(row)
        if traced and (wrong := difference(eager, traced, row)):
            complain(f"{row.name}: {ours.name} traced computes something else: {wrong}")
            return None
        ratios = ours.turns(seconds, AS_TRACED[row.mode])
    except Refused as refused:
        complain(f"{row.name}: {ours.name} in turns fails: {refused}")
        return None
    return statistics.quantiles(ratios, n=4) if ratios and len(ratios) > 1 else None
