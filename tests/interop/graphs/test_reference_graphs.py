"""The stored graphs (tests/reference/graphs): TensorFlow still gives the stored values, and `panto run` gives them too.

A command cannot run a graph twice in one session, so `panto run` is asked only for runs that come first in theirs.
The C++ tests replay the whole sequences.
"""

import json
import unittest

import numpy as np
import support
import tensorflow as tf

FOLDER = support.REFERENCE / "graphs"
TOLERANCE = dict(rtol=2e-6, atol=2e-6)


class ReferenceGraphs(unittest.TestCase):
    def check_graph(self, row):
        path = FOLDER / row["graph"]
        with np.load(FOLDER / row["arrays"]) as file:
            arrays = dict(file)
        graph = tf.Graph()
        with graph.as_default():
            definition = support.read_graph_def(path)
            support.note_graph(definition)
            tf.import_graph_def(definition, name="")
        stateful = any(node.type in ("VarHandleOp", "VariableV2") for node in graph.get_operations())
        with tf.compat.v1.Session(graph=graph) as session:
            for index, run in enumerate(row["runs"]):
                feeds = {name: arrays[key] for name, key in run["feeds"].items()}
                fetches = {name: arrays[key] for name, key in run["fetches"].items()}

                def compare(results):
                    for name, value in fetches.items():
                        support.assert_same(self, results[name], value, f"run {index}, {name}", **TOLERANCE)

                values = session.run(
                    [support.tensor_name(name) for name in fetches] + run["targets"],
                    {support.tensor_name(name): value for name, value in feeds.items()},
                )
                compare(dict(zip(fetches, map(support.as_array, values))))
                if support.PANTO and (index == 0 or not stateful):
                    for options in ([], ["--optimize", "off"]):
                        compare(support.panto_run(path, feeds, list(fetches), run["targets"], options))


def add_tests():
    for row in json.loads((FOLDER / "graphs.json").read_text())["graphs"]:
        name = row["graph"].replace(".", "_")
        setattr(ReferenceGraphs, f"test_{name}", lambda self, row=row: self.check_graph(row))


add_tests()

if __name__ == "__main__":
    support.main()
