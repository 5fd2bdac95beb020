"""Every stored op call (tests/reference) as a node that TensorFlow wrote, run by `panto run`: one graph for each op. And
TensorFlow's gradients of both orders of many of them, as it writes these."""

import json
import sys
import unittest

import numpy as np
import support
import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry

sys.path[:0] = support.CASES

import gradient_cases
from cases import made_by


# TensorFlow takes these into a graph only if it is told shapes.
NEEDS_SHAPES = {"BatchToSpaceND", "DenseCountSparseOutput", "MatrixSetDiagV2", "MatrixSetDiagV3", "ParallelConcat",
                "RandomIndexShuffle", "SpaceToBatchND"}


def load_cases(*names):
    """{op: [case with arrays in the places of keys]}, without those whose arrays an .npz file cannot hold."""
    found = {}
    for name in names:
        document = json.loads((support.REFERENCE / "values" / f"{name}.json").read_text())
        with np.load(support.REFERENCE / "values" / f"{name}.npz") as file:
            arrays = dict(file)
        for case in document["cases"]:
            keys = case["inputs"] + [key for key in case["outputs"] if isinstance(key, str)]
            if any(key in document["bfloat16"] for key in keys):
                continue
            fields = ["variables", "after", "first", "second"] + ["outputs"] * ("first" not in case)
            for field in fields:
                case[field] = [None if key is None else arrays[key] for key in case.get(field, [])]
            case["inputs"] = [key if key.startswith("@") else arrays[key] for key in case["inputs"]]
            found.setdefault(case["op"], []).append(case)
    return found


def add_case(index, case):
    """Adds the call to the default graph as node `case<index>`; returns its feeds and {fetch name: expected}. Of every
    third one the graph says the inputs' shapes, of the next nothing but ranks, of the next nothing."""
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
        known = 0 if case["op"] in NEEDS_SHAPES else index % 3
        shape = [value.shape, [None] * value.ndim, None][known]
        placeholder = tf.compat.v1.placeholder(value.dtype, shape, name=f"case{index}/in{number}")
        feeds[placeholder.op.name] = value
        return placeholder

    tensors = [tensor(number, value) for number, value in enumerate(case["inputs"])]
    # Where attributes do not tell, lists of one op are of one length.
    lists = [argument for argument in definition.input_arg if argument.number_attr or argument.type_list_attr]
    length = (len(tensors) - len(definition.input_arg) + len(lists)) // max(len(lists), 1)
    arguments, inferred = {}, set()
    for argument in definition.input_arg:
        inferred |= {argument.type_attr, argument.number_attr, argument.type_list_attr}
        if argument.number_attr or argument.type_list_attr:
            told = case["attrs"].get(argument.number_attr or argument.type_list_attr, length)
            count = told if isinstance(told, int) else len(told)
            arguments[argument.name], tensors = tensors[:count], tensors[count:]
        else:
            arguments[argument.name] = tensors.pop(0)
    for attr in definition.attr:
        if attr.name not in inferred:
            value = case["attrs"].get(attr.name)
            if attr.type == "shape" and value is not None:
                value = [None if size < 0 else size for size in value]
            arguments[attr.name] = value
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


class OneGraph:
    def check_op(self, cases):
        graph = tf.Graph()
        feeds, expected, tolerance = {}, {}, {}
        with graph.as_default():
            made_by(cases[0].get("producer"))
            for index, case in enumerate(cases):
                case_feeds, case_expected = self.add(index, case)
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


def add_gradients(index, case):
    """As add_case; what is fetched are the gradients."""
    feeds, _ = add_case(3 * index, dict(case, outputs=[]))
    graph = tf.compat.v1.get_default_graph()
    node = graph.get_operation_by_name(f"case{3 * index}")
    inputs = [graph.get_tensor_by_name(f"{name}:0") for name in feeds]
    orders = gradient_cases.add_gradients(case["op"], node.outputs, [x for x in inputs if x.dtype in gradient_cases.FLOATS])
    expected = {}
    for order, gradients, values in zip(("first", "second"), orders, (case["first"], case["second"])):
        for number, (gradient, value) in enumerate(zip(gradients or [], values)):
            if value is not None:
                expected[tf.identity(gradient, name=f"case{3 * index}/{order}{number}").op.name] = value
    return feeds, expected


class ReferenceCases(OneGraph, unittest.TestCase):
    add = staticmethod(add_case)


class GradientGraphs(OneGraph, unittest.TestCase):
    add = staticmethod(add_gradients)


def add_tests(where, *names):
    for op, cases in load_cases(*names).items():
        setattr(where, f"test_{op}", lambda self, cases=cases: self.check_op(cases))


add_tests(ReferenceCases, "ops", "random", "numeric", "every")
add_tests(GradientGraphs, "gradients")

if __name__ == "__main__":
    support.main()
