"""The calls of every.json: ops that the other lists leave out, and what derived_cases.py makes of all calls."""

import derived_cases
import plain_cases
from cases import Cases


def make(*others):
    """`others`: the collections of the other lists."""
    cases = Cases()
    plain_cases.plain(cases)
    cases.extend(derived_cases.derive(cases, *others))
    return cases
