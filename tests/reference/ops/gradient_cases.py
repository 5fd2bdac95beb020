"""Gradients by TensorFlow, for gradients.json: of calls of other lists, by every input that is a float, in float64 where
there is a kernel.

An entry is as in cases.py, with
    first     keys of the gradients of the sum of the float outputs, each element times its weight, by the float inputs,
              in order; null where TensorFlow finds no way
    second    the same of the sum of the squares of all elements of `first`; absent where TensorFlow has none
and `outputs` are the numbers of those that are summed. Element i of an output has the weight (i mod 7 - 3) / 4.
"""

import numpy as np
import tensorflow as tf

from cases import Cases, Variable, plain
from derived_cases import arrays_of, held, in_type, mapped
from tensorflow.python.framework import op_def_library, op_def_registry
from tensorflow.python.framework import ops as framework_ops

BASES = 6  # of one op
MOST_ELEMENTS = 300
NEAR = {"float32": dict(rtol=2e-5, atol=2e-5), "float64": dict(rtol=1e-9, atol=1e-10)}
FLOATS = (tf.float32, tf.float64)
# Of some ops TensorFlow's gradient looks at these outputs only.
OUTPUTS = {
    "BlockLSTM": [1, 6],
    "BlockLSTMV2": [1, 6],
    "SoftmaxCrossEntropyWithLogits": [0],
    "SparseSoftmaxCrossEntropyWithLogits": [0],
}
# Whose stored calls are at kinks, where TensorFlow gives one of several slopes; or whose gradients by TensorFlow are not
# their slopes (docs/differences.md).
EXCLUDED = {"RGBToHSV", "BlockLSTMV2", "FusedBatchNormGradV3"}
NO_SECOND = {"SoftmaxCrossEntropyWithLogits", "MatrixSolveLs"}


def rows_repeat(call):
    rows = np.concatenate([np.ravel(i) for i in call["indices"]])
    return len(set(rows.tolist())) < len(rows)


# The same of some calls.
UNFIT = {
    "DynamicStitch": rows_repeat,
    "CropAndResize": lambda call: call.get("method") == "nearest",
    "MatrixDiagV2": lambda call: np.size(call["k"]) > 1,
    "MatrixDiagPartV2": lambda call: np.size(call["k"]) > 1,
    "SparseSoftmax": lambda call: sorted(call["sp_indices"].tolist()) != call["sp_indices"].tolist(),
}
# Weights of bicubic kernels are float32 in both.
NEAR_OF = {"ResizeBicubic": dict(rtol=1e-6, atol=1e-6)}


def weighted(y):
    count = tf.range(tf.size(y), dtype=tf.int32)
    weights = tf.cast(count % 7 - 3, y.dtype) / 4
    return tf.reduce_sum(tf.reshape(y, [-1]) * weights)


def summed(op, outputs):
    """The numbers of the outputs that are summed."""
    return OUTPUTS.get(op) or [number for number, y in enumerate(outputs) if y.dtype in FLOATS]


def add_gradients(op, outputs, inputs):
    """Adds the gradients of both orders to the graph: two lists in which None stands for what is not there; the second
    is None where it cannot be built. `inputs`: the float ones."""
    total = tf.add_n([tf.cast(weighted(outputs[number]), tf.float64) for number in summed(op, outputs)])
    first = [dense(g) for g in tf.gradients(total, inputs)]
    there = [g for g in first if g is not None]
    if not there:
        return first, None
    try:
        squares = tf.add_n([tf.cast(tf.reduce_sum(tf.square(g)), tf.float64) for g in there])
        return first, [dense(g) for g in tf.gradients(squares, inputs)]
    except (LookupError, NotImplementedError, TypeError, ValueError):
        return first, None


def dense(gradient):
    return tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient


class Gradients(Cases):
    def add_call(self, op, label, arguments):
        """Returns whether there is one."""
        definition = op_def_registry.get(op)
        arguments, call, feeds, floats = dict(arguments), {}, {}, []
        told = {
            getattr(argument, field)
            for argument in definition.input_arg
            for field in ("type_attr", "number_attr", "type_list_attr")
        }
        for attr in definition.attr:
            if attr.name not in told:
                arguments.setdefault(attr.name, None)
        graph = tf.Graph()
        with graph.as_default():

            def feed(value):
                value = np.asarray(value)
                placeholder = tf.compat.v1.placeholder(value.dtype, value.shape)
                feeds[placeholder] = value
                if placeholder.dtype in FLOATS:
                    floats.append(placeholder)
                return placeholder

            for argument in definition.input_arg:
                value = arguments.pop(argument.name)
                call[argument.name] = [feed(v) for v in value] if isinstance(value, list) else feed(value)
            node = tf.nest.flatten(op_def_library.apply_op(op, **call, **arguments))[0].op
            outputs = list(node.outputs)
            if not floats or not summed(op, outputs):
                return False
            first, second = add_gradients(op, outputs, floats)
            if not any(g is not None for g in first):
                return False
            with tf.compat.v1.Session() as session:
                values = session.run([g for g in first if g is not None], feeds)
                more = None
                if second is not None:
                    try:
                        more = session.run([g for g in second if g is not None], feeds)
                    except (tf.errors.OpError, NotImplementedError):
                        second = None
        numbers = [np.asarray(v) for v in values + (more or [])]
        if not all(np.isfinite(v).all() for v in numbers):
            return False
        defaults = {attr.name: attr.default_value for attr in definition.attr if attr.HasField("default_value")}
        lists = {argument.number_attr or argument.type_list_attr for argument in definition.input_arg} - {""}
        if len(lists) > 1:
            told -= lists
        case = {
            "name": f"{op}/{label}",
            "op": op,
            "attrs": {
                key: plain(value)
                for key, value in sorted(node.node_def.attr.items())
                if key not in told and not key.startswith("_") and value != defaults.get(key)
            },
            "inputs": [self.key(value) for value in feeds.values()],
            "outputs": summed(op, outputs),
        }
        values = iter(values)
        case["first"] = [None if g is None else self.key(next(values)) for g in first]
        if second is not None and op not in NO_SECOND:
            more = iter(more)
            case["second"] = [None if g is None else self.key(next(more)) for g in second]
        types = {t.dtype.name for t in floats}
        case |= NEAR_OF.get(op) or NEAR["float32" if "float32" in types else "float64"]
        self.cases.append(case)
        return True


def in_float64(op, arguments):
    """The call with its numbers in float64, where every type attribute of float inputs allows that."""
    definition = op_def_registry.get(op)
    result = dict(arguments)
    for argument in definition.input_arg:
        values = [held(v) for v in arrays_of(arguments[argument.name])]
        if not values or values[0].dtype not in (np.float32, np.float16):
            continue
        result[argument.name] = mapped(arguments[argument.name], lambda a: in_type(a, "float64"))
    return result


def has_gradient(op):
    try:
        return framework_ops.gradient_registry.lookup(op) is not None
    except LookupError:
        return False


def make(*collections):
    cases = Gradients()
    count = {}
    for collection in collections:
        for op, arguments, given in collection.calls:
            values = [a for v in arguments.values() for a in arrays_of(v)]
            tensors = [held(a) for a in values if isinstance(a, (np.ndarray, np.generic))]
            if op in EXCLUDED or count.get(op, 0) >= BASES or any(isinstance(a, Variable) for a in values):
                continue
            if sum(a.size for a in tensors) > MOST_ELEMENTS or not any(a.dtype.kind == "f" for a in tensors):
                continue
            if not all(np.isfinite(a).all() for a in tensors if a.dtype.kind == "f") or not has_gradient(op):
                continue
            # Of nothing there is no gradient, or one of memory that nobody wrote.
            if any(a.size == 0 for a in tensors) or (op in UNFIT and UNFIT[op](arguments)):
                continue
            for form in (in_float64(op, arguments), arguments):
                try:
                    if cases.add_call(op, f"{count.get(op, 0)}", form):
                        count[op] = count.get(op, 0) + 1
                        break
                except (tf.errors.OpError, ValueError, TypeError, LookupError, NotImplementedError):
                    continue
    return cases
