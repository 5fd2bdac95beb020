"""tests/nn/keras_names.tsv: that it has every public layer, loss, metric, initializer, optimizer, schedule, regularizer,
constraint and activation of Keras, and no other, and says of each what it is here, or why it is not."""

import collections
import types
import unittest

import support
import keras

LIST = support.ROOT / "tests" / "nn" / "keras_names.tsv"
MODULES = ("layers", "losses", "metrics", "initializers", "optimizers", "optimizers.schedules", "regularizers",
           "constraints", "activations")


def public_names(module):
    here = keras
    for part in module.split("."):
        here = getattr(here, part)
    return [n for n in dir(here) if not n.startswith("_") and not isinstance(getattr(here, n), types.ModuleType)]


class KerasNames(unittest.TestCase):
    def setUp(self):
        header, *lines = LIST.read_text().splitlines()
        self.assertEqual(header.split("\t"), ["module", "keras", "pantograph", "note"])
        self.rows = [line.split("\t") for line in lines]

    def test_the_list_has_the_names_of_keras(self):
        listed = [(row[0], row[1]) for row in self.rows]
        theirs = [(module, name) for module in MODULES for name in public_names(module)]
        self.assertEqual([pair for pair, count in collections.Counter(listed).items() if count > 1], [])
        self.assertEqual(sorted(set(theirs) - set(listed)), [], "not in the list")
        self.assertEqual(sorted(set(listed) - set(theirs)), [], "not in Keras")

    def test_each_has_a_name_here_or_an_excuse(self):
        for row in self.rows:
            with self.subTest(row):
                self.assertIn(len(row), (3, 4))
                note = row[3] if len(row) == 4 else ""
                if row[2] == "-":
                    self.assertGreater(len(note), 10, "expected an excuse")
                    self.assertNotEqual(note, "planned")
                else:
                    self.assertRegex(row[2], r"^(\w+::)?\w+$")
                    self.assertIn(note, ("", "planned"))


if __name__ == "__main__":
    support.main()
