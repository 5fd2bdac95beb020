"""What `panto optimize` writes: TensorFlow reads it, and gets the numbers of the graph that it was made of."""

import pathlib
import tempfile
import unittest

import support
import tensorflow as tf
import test_functions
import test_graphs

# What is drawn by generators that are kept by node, and what is fed in place of a node that may be gone.
OTHERS = (test_graphs.stateful_random, test_graphs.fed_in_the_middle)


@support.needs_panto
class Optimized(unittest.TestCase):
    def check(self, definition, feeds, fetches, targets=(), tolerance=2e-6):
        expected = support.run_graph_def(definition, feeds, fetches, targets)
        options = [part for name in fetches for part in ("--fetch", name)]
        options += [part for name in targets for part in ("--target", name)]
        with tempfile.TemporaryDirectory() as folder, support.saved(definition) as path:
            out = pathlib.Path(folder) / "out.pb"
            support.panto("optimize", path, out, *options)
            optimized = support.read_graph_def(out)
            here = support.panto_run(out, feeds, fetches, targets)
        results = [here]
        try:
            results.append(support.run_graph_def(optimized, feeds, fetches, targets))
        except tf.errors.InvalidArgumentError as error:
            # TensorFlow's gradients of loops add lists of bools, which it cannot, where nobody needs the sum. Whether its
            # own optimizer drops that in time depends on how functions are nested.
            self.assertIn("Trying to add unsupported dtype 10", str(error))
        for result in results:
            for name in fetches:
                support.assert_same(self, result[name], expected[name], name, rtol=tolerance, atol=tolerance)

    def test_random_functions(self):
        """With conditionals, loops and calls."""
        for seed in range(min(40, test_functions.PROGRAMS)):
            with self.subTest(seed=seed):
                definition, output = test_functions.graph_of(test_functions.Program(seed).whole())
                for feeds in test_functions.FEEDS:
                    self.check(definition, feeds, [output], tolerance=1e-9)


for _builder in test_graphs.BUILDERS:
    if _builder not in OTHERS:
        setattr(Optimized, f"test_{_builder.__name__}",
                lambda self, builder=_builder: self.check(*test_graphs.build(builder)))

if __name__ == "__main__":
    support.main()
