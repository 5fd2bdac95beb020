"""A collection of op calls with what TensorFlow gave for them: NAME.json (the calls) and NAME.npz (their arrays).

Each entry of the list "cases" is one call:
    name      "Op/label", unique
    op        TensorFlow's op name
    attrs     attributes that the inputs do not tell and that are not at their default; types by their NumPy name
    inputs    keys of the .npz, lists flattened; "@0", "@1", ... is a resource variable holding variables[0], [1], ...
    variables keys of the variables' values before the call (absent if there are none)
    outputs   keys of the values that come out
    after     keys of the variables' values after the call
    producer  the version of the graph that the op is in, where later ones do not have it
    rtol      how far a float may be off, relative; with it atol, absolute. Absent: the same value; -0 equals 0 and NaN
              equals NaN
Quantized arrays are structures of one integer, which has the name of the type.
An array whose key is in the top-level "bfloat16" list holds bfloat16 bit patterns as uint16. Equal arrays share a key.
"""

import io
import json
import zipfile

import numpy as np
import tensorflow as tf

from tensorflow.python.framework import op_def_library
from tensorflow.python.framework import op_def_registry


def dtype_name(enum):
    return tf.dtypes.as_dtype(enum).name


def plain(value):
    """An AttrValue as JSON: numbers, strings, lists, type names; a shape is a list with -1 for unknown, or null."""
    kind = value.WhichOneof("value")
    if kind == "type":
        return dtype_name(value.type)
    if kind == "s":
        return value.s.decode()
    if kind == "shape":
        return None if value.shape.unknown_rank else [dim.size for dim in value.shape.dim]
    if kind == "list":
        for field, entries in value.list.ListFields():
            if field.name == "shape":
                return [None if e.unknown_rank else [dim.size for dim in e.dim] for e in entries]
            return [dtype_name(e) if field.name == "type" else e.decode() if field.name == "s" else e for e in entries]
        return []
    if kind == "f":
        return float(np.format_float_positional(np.float32(value.f)))
    return getattr(value, kind)


def save_arrays(path, arrays):
    """numpy.savez_compressed, without the 64-bit extras by which that makes a file larger."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for key, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array)
            file.writestr(zipfile.ZipInfo(f"{key}.npy"), content.getvalue(), zipfile.ZIP_DEFLATED)


class Variable:
    """Stands for a resource variable among a call's inputs."""

    def __init__(self, value):
        self.value = np.asarray(value)


def made_by(producer):
    """Makes the default graph, which has no nodes, one of this version, if any is given."""
    if producer is not None:
        older = tf.compat.v1.get_default_graph().as_graph_def()
        older.versions.producer = producer
        tf.import_graph_def(older)


class Cases:
    def __init__(self):
        self.cases = []
        self.arrays = {}
        self.bfloat16 = []
        self.calls = []  # (op, arguments, tolerance): what `add` was asked for, in order
        self._keys = {}
        self._names = set()

    def key(self, array):
        """The key under which the array is stored; the same for equal arrays."""
        array = np.asarray(array)
        if array.dtype == object:  # strings that come out
            array = array.astype("S")
        kind = str(array.dtype) if array.dtype.names else array.dtype.name  # quantized ones are structures
        if kind == "bfloat16":
            array = array.view(np.uint16)
        identity = (kind, array.shape, array.tobytes())
        if identity not in self._keys:
            key = f"a{len(self._keys)}"
            self._keys[identity] = key
            self.arrays[key] = array
            if kind == "bfloat16":
                self.bfloat16.append(key)
        return self._keys[identity]

    def add(self, op, label, rtol=0.0, atol=0.0, producer=None, **arguments):
        """Runs one call in TensorFlow and keeps it. The arguments are called as in the OpDef; its inputs are arrays,
        lists of them or Variables. `producer`: the version of the graph, for ops that later ones do not have. Returns
        the outputs and, where there are Variables, their new values."""
        name = f"{op}/{label}"
        assert name not in self._names, f"two cases are called {name}"
        given = dict(arguments)
        definition = op_def_registry.get(op)
        inputs, variables, feeds, call, initializers = [], [], {}, {}, []
        arguments = dict(arguments)

        def feed(value):
            if isinstance(value, Variable):
                variable = tf.raw_ops.VarHandleOp(
                    dtype=value.value.dtype, shape=value.value.shape, shared_name=f"variable{len(variables)}"
                )
                initializers.append(tf.raw_ops.AssignVariableOp(resource=variable, value=value.value))
                inputs.append(f"@{len(variables)}")
                variables.append((variable, value.value))
                return variable
            value = np.asarray(value)
            placeholder = tf.compat.v1.placeholder(value.dtype, value.shape)
            feeds[placeholder] = value.copy()  # some ops write to what they are given
            inputs.append(value)
            return placeholder

        told = {
            getattr(argument, field)
            for argument in definition.input_arg
            for field in ("type_attr", "number_attr", "type_list_attr")
        }
        for attr in definition.attr:
            if attr.name not in told:
                arguments.setdefault(attr.name, None)  # None is TensorFlow's word for "the default"
        graph = tf.Graph()
        with graph.as_default():
            made_by(producer)
            for argument in definition.input_arg:
                value = arguments.pop(argument.name)
                call[argument.name] = [feed(v) for v in value] if isinstance(value, list) else feed(value)
            result = op_def_library.apply_op(op, **call, **arguments)
            node = result if isinstance(result, tf.Operation) else tf.nest.flatten(result)[0].op
            reads = [tf.raw_ops.ReadVariableOp(resource=v, dtype=value.dtype) for v, value in variables]
            with tf.compat.v1.Session() as session:
                session.run(initializers)
                outputs = session.run([node, list(node.outputs)], feeds)[1]
                # A session gives quantized tensors as plain integers.
                outputs = [
                    np.asarray(value).view(tensor.dtype.as_numpy_dtype) if tensor.dtype.is_quantized else value
                    for value, tensor in zip(outputs, node.outputs)
                ]
                after = session.run(reads)

        # Of several lists of tensors the numbers tell which is which.
        lists = {argument.number_attr or argument.type_list_attr for argument in definition.input_arg} - {""}
        if len(lists) > 1:
            told -= lists
        defaults = {attr.name: attr.default_value for attr in definition.attr if attr.HasField("default_value")}
        attrs = {
            key: plain(value)
            for key, value in sorted(node.node_def.attr.items())
            if key not in told and not key.startswith("_") and value != defaults.get(key)
        }
        case = {
            "name": name,
            "op": op,
            "attrs": attrs,
            "inputs": [value if isinstance(value, str) else self.key(value) for value in inputs],
        }
        if variables:
            case["variables"] = [self.key(value) for _, value in variables]
        case["outputs"] = [self.key(value) for value in outputs]
        if variables:
            case["after"] = [self.key(value) for value in after]
        if rtol or atol:
            case["rtol"], case["atol"] = rtol, atol
        if producer is not None:
            case["producer"] = producer
        self._names.add(name)
        self.cases.append(case)
        self.calls.append((op, given, dict(rtol=rtol, atol=atol, producer=producer)))
        return outputs, after

    def extend(self, other):
        """Adds the cases of another collection."""
        for case in other.cases:
            case = dict(case)
            assert case["name"] not in self._names, f"two cases are called {case['name']}"
            self._names.add(case["name"])
            for field in ("inputs", "outputs", "variables", "after"):
                if field in case:
                    case[field] = [key if key.startswith("@") else self.key(other.array(key)) for key in case[field]]
            self.cases.append(case)
        self.calls += other.calls

    def array(self, key):
        """What is stored under a key."""
        array = self.arrays[key]
        return array.view(tf.bfloat16.as_numpy_dtype) if key in self.bfloat16 else array

    def save(self, folder, name, **extra):
        """Writes NAME.json and NAME.npz."""
        header = {"tensorflow": tf.__version__, "numpy": np.__version__, **extra}
        text = ",\n  ".join(json.dumps(key) + ": " + json.dumps(value) for key, value in header.items())
        rows = ",\n    ".join(json.dumps(case) for case in self.cases)
        bfloat16 = json.dumps(self.bfloat16)
        (folder / f"{name}.json").write_text(
            f'{{\n  {text},\n  "bfloat16": {bfloat16},\n  "cases": [\n    {rows}\n  ]\n}}\n'
        )
        save_arrays(folder / f"{name}.npz", self.arrays)
