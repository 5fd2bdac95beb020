"""Every stored op call (tests/reference) as a node that TensorFlow wrote, run by `panto run`: one graph for each op."""

import json
import unittest

import numpy as np
import support
import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry


def load_cases():
    """{op: [case with arrays in the places of keys]}, without those whose arrays an .npz file cannot hold."""
    found = {}
    for name in ("ops", "random"):
        document = json.loads((support.REFERENCE / f"{name}.json").read_text())
        with np.load(support.REFERENCE / f"{name}.npz") as file:
            arrays = dict(file)
        for case in document["cases"]:
            keys = case["inputs"] + case["outputs"]
            if any(key in document["bfloat16"] for key in keys):
                continue
            for field in ("outputs", "variables", "after"):
                case[field] = [arrays[key] for key in case.get(field, [])]
            case["inputs"] = [key if key.startswith("@") else arrays[key] for key in case["inputs"]]
            found.setdefault(case["op"], []).append(case)
    return found


def add_case(index, case):
    """Adds the call to the default graph as node `case<index>`; returns its feeds and {fetch name: expected}."""
    definition = op_def_registry.get(case["op"])
    feeds, expected, updates, handles = {}, {}, [], []
    for number, value in enumerate(case["variables"]):
        handles.append(
            tf.raw_ops.VarHandleOp(
                dtype=value.dtype,
                shape=value.shape,
                name=f"case{index}/variable{number}",
                shared_name=f"case{index}/variable{number}",
            )
        )
        updates.append(tf.raw_ops.AssignVariableOp(resource=handles[-1], value=value))

    def tensor(number, value):
        if isinstance(value, str):
            return handles[int(value[1:])]
        placeholder = tf.compat.v1.placeholder(value.dtype, value.shape, name=f"case{index}/in{number}")
        feeds[placeholder.op.name] = value
        return placeholder

    tensors = [tensor(number, value) for number, value in enumerate(case["inputs"])]
    # Lists of one op are of one length.
    lists = [argument for argument in definition.input_arg if argument.number_attr or argument.type_list_attr]
    length = (len(tensors) - len(definition.input_arg) + len(lists)) // max(len(lists), 1)
    arguments, inferred = {}, set()
    for argument in definition.input_arg:
        inferred |= {argument.type_attr, argument.number_attr, argument.type_list_attr}
        if argument.number_attr or argument.type_list_attr:
            arguments[argument.name], tensors = tensors[:length], tensors[length:]
        else:
            arguments[argument.name] = tensors.pop(0)
    for attr in definition.attr:
        if attr.name not in inferred:
            arguments[attr.name] = case["attrs"].get(attr.name)
    with tf.control_dependencies(updates):
        result = op_def_library.apply_op(case["op"], name=f"case{index}", **arguments)
    node = result if isinstance(result, tf.Operation) else tf.nest.flatten(result)[0].op
    for number, value in enumerate(case["outputs"]):
        expected[f"{node.name}:{number}"] = value
    with tf.control_dependencies([node]):
        for number, (handle, value) in enumerate(zip(handles, case["after"])):
            read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=value.dtype, name=f"case{index}/after{number}")
            expected[read.op.name] = value
    return feeds, expected


class ReferenceCases(unittest.TestCase):
    def check_op(self, cases):
        graph = tf.Graph()
        feeds, expected, tolerance = {}, {}, {}
        with graph.as_default():
            for index, case in enumerate(cases):
                case_feeds, case_expected = add_case(index, case)
                feeds.update(case_feeds)
                expected.update(case_expected)
                tolerance.update(dict.fromkeys(case_expected, (case["name"], case.get("rtol", 0), case.get("atol", 0))))
        definition = graph.as_graph_def()

        def compare(results):
            for fetch, value in expected.items():
                name, rtol, atol = tolerance[fetch]
                support.assert_same(self, results[fetch], value, name, rtol=rtol, atol=atol)

        compare(support.run_graph_def(definition, feeds, list(expected)))
        if support.PANTO:
            with support.saved(definition) as path:
                for options in ([], ["--optimize", "off"]):
                    compare(support.panto_run(path, feeds, list(expected), options=options))


def add_tests():
    for op, cases in load_cases().items():
        setattr(ReferenceCases, f"test_{op}", lambda self, cases=cases: self.check_op(cases))


add_tests()

if __name__ == "__main__":
    support.main()
