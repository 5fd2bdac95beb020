"""Calls made of other calls, for every.json: the same op with other types, attributes, numbers of rows and forms.

Of the calls that the other modules wrote down, the first one of each op is asked again
  * in every type that the op's attributes allow and TensorFlow's CPU has a kernel for,
  * with every value of attributes that are flags, types or one of several words,
  * without rows.
What TensorFlow refuses is no case.
"""

import numpy as np
import tensorflow as tf

from cases import Cases, Variable
from tensorflow.python.framework import op_def_registry

TYPES = """float16 bfloat16 float32 float64 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64
    bool""".split()
MOST_ELEMENTS = 400  # of the inputs of a base
# How far numbers of a type may be off where the base has a tolerance, or the type is rounded to.
NEAR = {
    "float16": dict(rtol=8e-3, atol=8e-3),
    "bfloat16": dict(rtol=6e-2, atol=6e-2),
    "float32": dict(rtol=4e-6, atol=4e-6),
    "float64": dict(rtol=1e-12, atol=1e-12),
    "complex64": dict(rtol=1e-5, atol=1e-5),
    "complex128": dict(rtol=1e-12, atol=1e-12),
}
# Ops, or what may be said of them, that are not asked: what TensorFlow gives depends on where an element lies or on what
# was in memory, it takes what it says it does not, it ends the process or never ends; or docs/differences.md has it.
EXCLUDED = {
    # Of other sizes than the call is about.
    *((op, "rows=0") for op in """AccumulateNV2 DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter
       DepthwiseConv2dNativeBackpropInput Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput IRFFT2D IRFFT3D
       InplaceAdd InplaceSub InplaceUpdate MatrixSolveLs RFFT2D RFFT3D""".split()),
    *((op, "padding") for op in "AvgPoolGrad AvgPool3DGrad MaxPoolGrad MaxPool3DGrad".split()),
    ("ResizeNearestNeighborGrad", "half_pixel_centers"),
    ("FusedBatchNormV3", "is_training"),
    # Of complex numbers that are infinite or no numbers, and optimizers of complex variables.
    *((op, name) for op in "DivNoNan Pow Reciprocal Sign Xdivy Xlog1py ClipByValue".split()
      for name in ("T=complex64", "T=complex128")),
    *((f"ResourceSparseApply{op}", name)
      for op in "Adadelta Adagrad AdagradV2 CenteredRMSProp KerasMomentum Momentum RMSProp".split()
      for name in ("T=complex64", "T=complex128")),
    ("BesselY1", "T=float16"),
    ("BesselY1", "T=float32"),
    ("Round", "T=int32"),
    ("Round", "T=int64"),
    ("Cast", "DstT"),
    ("Cast", "Truncate"),
    # Thresholds of another type than the values are read as if they were of theirs.
    ("SparseAdd", "T"),
    ("SparseAdd", "Treal"),
    # Signs and order of vectors, and what was not asked for.
    ("Svd", "T"),
    ("Svd", "compute_uv"),
    ("UnicodeDecodeWithOffsets", "Tsplits"),
    # Bytes that end with 0, which arrays of strings do not keep.
    ("SerializeTensor", "T"),
    ("SerializeTensor", "rows=0"),
    # What it keeps of no rows is whatever the memory held.
    ("FusedBatchNormV3", "rows=0"),
    # Truth values are not added here.
    *((op, "T=bool") for op in "ResourceScatterNdAdd ResourceScatterNdSub ScatterNd ScatterNdNonAliasingAdd".split()),
}


def arrays_of(value):
    return value if isinstance(value, list) else [value]


def held(value):
    return np.asarray(value.value if isinstance(value, Variable) else value)


def mapped(value, change):
    """The same with other arrays."""
    if isinstance(value, list):
        return [mapped(v, change) for v in value]
    return Variable(change(held(value))) if isinstance(value, Variable) else change(held(value))


def is_variable_of(value, dtype):
    return isinstance(value, Variable) and held(value).dtype == dtype


def in_type(array, name):
    """The same numbers as far as the type has them."""
    target = tf.dtypes.as_dtype(name)
    if array.dtype.kind in "SUO":
        return array
    if array.dtype.kind in "fc" and (target.is_integer or target.is_bool):
        array = np.round(np.nan_to_num(array.real, posinf=3, neginf=-3))
    if array.dtype.kind == "c" and not target.is_complex:
        array = array.real
    if target.is_integer:
        ends = np.iinfo(target.as_numpy_dtype)
        array = np.array([min(max(int(v), ends.min), ends.max) for v in array.ravel()], object).reshape(array.shape)
    return np.asarray(array).astype(target.as_numpy_dtype)


def tolerance_of(arguments, given):
    """Of a call whose base may have had one."""
    kinds = [held(a).dtype.name for value in arguments.values() for a in arrays_of(value)
             if isinstance(a, (np.ndarray, np.generic, Variable))]
    kinds += [tf.dtypes.as_dtype(v).name for v in arguments.values() if isinstance(v, tf.DType)]
    near = [NEAR[kind] for kind in kinds if kind in NEAR]
    if not near or (given["rtol"] == 0 and given["atol"] == 0 and not {"float16", "bfloat16"} & set(kinds)):
        return dict(given)
    widest = max(near, key=lambda n: n["rtol"])
    return {key: max(widest[key], given[key]) for key in ("rtol", "atol")}


class Deriver:
    def __init__(self):
        self.cases = Cases()

    def add(self, op, label, arguments, given, producer=None):
        what = label.split()[0]
        if (op, what) in EXCLUDED or (op, what.split("=")[0]) in EXCLUDED:
            return
        try:
            self.cases.add(op, label, **tolerance_of(arguments, given), producer=producer, **arguments)
        except (tf.errors.OpError, ValueError, TypeError, NotImplementedError, OverflowError):
            pass

    def derive(self, op, arguments, given):
        definition = op_def_registry.get(op)
        inputs = {argument.name: argument for argument in definition.input_arg}
        told = {a.type_attr for a in definition.input_arg if a.type_attr}
        given = dict(given)
        producer = given.pop("producer", None)
        attrs = {a.name: a for a in definition.attr}
        for attr in definition.attr:
            allowed = [tf.dtypes.as_dtype(t).name for t in attr.allowed_values.list.type] or TYPES
            if attr.type == "type":
                for name in TYPES:
                    if name not in allowed:
                        continue
                    if attr.name in told:
                        first = next(k for k in inputs if inputs[k].type_attr == attr.name)
                        have = arrays_of(arguments[first])
                        if not have or held(have[0]).dtype.kind in "SUO" or held(have[0]).dtype.name == name:
                            continue
                        was = held(have[0]).dtype
                        other = {
                            key: mapped(value, lambda a: in_type(a, name))
                            if key in inputs and (inputs[key].type_attr == attr.name or is_variable_of(value, was))
                            else value
                            for key, value in arguments.items()
                            if key != attr.name
                        }
                    else:
                        other = dict(arguments, **{attr.name: tf.dtypes.as_dtype(name)})
                    self.add(op, f"{attr.name}={name}", other, given, producer)
            elif attr.type == "bool":
                default = attr.default_value.b if attr.HasField("default_value") else False
                flipped = not arguments.get(attr.name, default)
                self.add(op, f"{attr.name}={flipped}", dict(arguments, **{attr.name: flipped}), given, producer)
            elif attr.type == "string":
                for word in attr.allowed_values.list.s:
                    word = word.decode()
                    self.add(op, f"{attr.name}={word}", dict(arguments, **{attr.name: word}), given, producer)
        # Of tensors with as many rows as the first: none.
        tensors = {k: v for k, v in arguments.items() if k in inputs}
        shapes = [held(a).shape for v in tensors.values() for a in arrays_of(v)]
        if not shapes or not shapes[0] or shapes[0][0] == 0:
            return
        rows = shapes[0][0]
        other = {
            k: mapped(v, lambda a: a[:0] if a.ndim and a.shape[0] == rows else a) if k in tensors else v
            for k, v in arguments.items()
        }
        self.add(op, "rows=0", other, given, producer)


def derive(*collections):
    """Of all calls in these collections."""
    deriver = Deriver()
    bases = set()
    for collection in collections:
        for op, arguments, given in collection.calls:
            size = sum(held(a).size for v in arguments.values() for a in arrays_of(v)
                       if isinstance(a, (np.ndarray, np.generic, Variable)))
            # Numbers of other types are other numbers.
            random = op.startswith(("Stateless", "Stateful")) and op != "StatelessSampleDistortedBoundingBox"
            if size > MOST_ELEMENTS or op in bases or random:
                continue
            bases.add(op)
            deriver.derive(op, arguments, given)
    return deriver.cases
