"""Random programs (tests/random) beside TensorFlow: the same graphs, the same feeds, the same numbers.

PANTO_PROGRAMS says how many (500). Integers, bools and strings are equal; floating-point elements differ by what rounding
in the program's own ops makes of them, which the exporter measured. What TensorFlow has no kernel for is counted.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

import support

import numpy as np

BUILD = os.environ.get("PANTO_BUILD")
# TensorFlow's refusals that say nothing about an answer.
NO_KERNEL = ("do not yet support", "Negative dimension size caused by subtracting", "No OpKernel was registered",
             "could not find a kernel", "Could not find device", "not supported", "not implemented", "Unimplemented",
             "only supports", "is not in the list of allowed values", "Op type not registered", "No registered",
             "Unsupported data type",
             "{{node StringJoin",  # its inputs do not broadcast: docs/differences.md
             # What TensorFlow refuses and these ops answer: docs/differences.md.
             "specified for empty output shape", "num_lower must be negative or less",
             "num_upper must be negative or less", "Shape must be at least rank 3 but is rank 2 for '{{node BiasAdd",
             "Unhandled input dimensions: 0", "entries, but params is empty",
             "paddings must be less than the", "block_shape must have", "doesn't match the number of diagonals implied",
             "for '{{node MatrixSetDiag", "for '{{node AdjustHue", "for '{{node AdjustSaturation",
             "If there is only one output, it must have the same size as the input",
             "can't split axis of size", "num_rows and num_cols are not consistent", "No WhereOp available",
             "rank 2 for '{{node SparseBincount", "cannot be both dense and sparse", "Seed must have shape [3] or [n, 3]",
             "is not available in GraphDef version", "received empty tensor indices", "tensor_in must not be empty",
             "on CPU is only supported for NHWC",
             "for '{{node DenseCountSparseOutput",  # of a matrix and weights without elements
             "out of range for string at index",  # of a negative length
             "FIRST_DIM_SIZE must be followed by VALUE_ROWIDS",
             "A static value of '-1' is required",  # the shape is a scalar that is fed
             # Of a split dimension that is fed it infers a shape that the part need not have.
             ", SplitV)' with input shapes")
# Gradients of pooling are given what was pooled and what it gave; a random program gives them anything, for which there
# is no right answer.
UNDEFINED = {"MaxPoolGrad", "MaxPoolGradGrad", "FractionalMaxPoolGrad"}
# Vectors whose signs libraries choose, and what was in memory above the diagonal: docs/differences.md.
UNDEFINED |= {"Qr", "Svd", "SelfAdjointEigV2", "SelfAdjointEig", "Eig", "Cholesky"}
# TensorFlow changes their argument, which may be a constant: docs/differences.md.
UNDEFINED |= {"InplaceUpdate", "InplaceAdd", "InplaceSub"}
# Of sparse tensors whose entries are in order, to which a random program does not keep.
UNDEFINED |= {"SparseAdd", "DenseToSparseSetOperation", "SparseToSparseSetOperation", "SetSize"}
# Whose kernel ends the process where no string is given and row splits are int32.
UNDEFINED |= {"UnicodeDecode", "UnicodeDecodeWithOffsets"}
# Of no indices it gives what is in memory.
UNDEFINED |= {"SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"}
# The conditions for which TensorFlow's conditionals and loops end the process.
NO_CONDITION = {"DT_UINT16", "DT_UINT32", "DT_UINT64", "DT_HALF", "DT_BFLOAT16", "DT_COMPLEX64", "DT_COMPLEX128"}


def has_nan(value):
    return value.dtype.kind not in "iu" and bool(np.isnan(value).any())


def has_even_power(value):
    """Whether one of these integers is 2^16, 2^18 or another even power of two from there on."""
    return any(n >= 2**16 and n.bit_count() == 1 and n.bit_length() % 2 == 1 for n in map(int, value.flat))


def has_nul(value):
    return any(b"\0" in text for text in value.flat)


# Ops for which TensorFlow has no right answer where an input, of this number, is so: docs/differences.md.
NO_ANSWER_OF = {"TopKV2": (0, has_nan), "RandomIndexShuffle": (2, has_even_power),
                "StringLower": (0, has_nul), "StringUpper": (0, has_nul)}


def read_arrays(path):
    import ml_dtypes

    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    # Those of quantized numbers have a name for their field.
    plain_bytes = {n for n, a in arrays.items() if a.dtype.kind == "V" and a.dtype.names is None}
    return {n: a.view(ml_dtypes.bfloat16) if n in plain_bytes else a for n, a in arrays.items()}


def numbered(arrays, prefix):
    count = sum(name.startswith(prefix) for name in arrays)
    return [arrays[f"{prefix}{i}"] for i in range(count)]


def difference(got, expected, tolerance):
    """What is wrong, or None."""
    got = support.as_array(got)
    if got.dtype.names:  # quantized numbers: the exporter writes what they hold
        got = got.view(got.dtype[0])
    if got.shape != expected.shape:
        return f"shape {list(expected.shape)}, TensorFlow {list(got.shape)}"
    if expected.dtype.kind == "S":
        return None if got.tolist() == expected.tolist() else f"{expected.tolist()}, TensorFlow {got.tolist()}"
    if got.dtype != expected.dtype:
        return f"dtype {expected.dtype}, TensorFlow {got.dtype}"
    tolerance = tolerance.reshape(expected.shape)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    if expected.dtype.kind in "iub":
        wrong = (got != expected) & (tolerance >= 0)
    else:
        with np.errstate(all="ignore"):
            a, b = got.astype(wide), expected.astype(wide)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            if expected.dtype.kind == "c":
                scale = np.max(np.abs(b[np.isfinite(b)]), initial=1)
                tolerance = np.maximum(tolerance, scale * (1e-3 if expected.dtype == np.complex64 else 1e-9))
                tolerance[~np.isfinite(b)] = -1  # an infinite part makes the others what the formula makes of them
            wrong = ~same & (tolerance >= 0) & ~(np.abs(a - b) <= tolerance)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"element {list(at)}: {expected[at]!r}, TensorFlow {got[at]!r}, allowed {tolerance[at]:.3g}"


def has_answer(node):
    """Whether TensorFlow has a right answer for a node, or an answer at all: docs/differences.md."""
    import tensorflow as tf
    from tensorflow.core.framework import types_pb2

    if node.op in UNDEFINED:
        return False
    if node.op == "Empty":  # whatever is in memory
        return node.attr["init"].b
    if node.op == "EuclideanNorm":  # squares of integers leave their type
        return not tf.as_dtype(node.attr["T"].type).is_integer
    if node.op == "Round":  # of integers: zeros
        return not tf.as_dtype(node.attr["T"].type).is_integer
    if node.op == "TopKV2":
        return node.attr["sorted"].b or "sorted" not in node.attr  # else any order of equals is right
    if node.op == "EnsureShape":  # it takes none of unknown rank
        return not node.attr["shape"].shape.unknown_rank
    if "Tcond" in node.attr:
        return types_pb2.DataType.Name(node.attr["Tcond"].type) not in NO_CONDITION
    return True


@unittest.skipUnless(BUILD, "the environment variable PANTO_BUILD does not name the build folder")
class RandomPrograms(unittest.TestCase):
    def run_one(self, base):
        """What is wrong with one program; (None, False) where TensorFlow has no kernel, or no right answer."""
        import tensorflow as tf

        arrays = read_arrays(base.with_suffix(".npz"))
        names = base.with_suffix(".txt").read_text().split()
        feeds = {}
        for i, value in enumerate(numbered(arrays, "in_")):
            feeds[f"in_{i}"] = value.astype(object) if value.dtype.kind == "S" else value
        definition = support.read_graph_def(base.with_suffix(".pb"))
        bodies = [function.node_def for function in definition.library.function]
        if not all(has_answer(node) for nodes in [definition.node, *bodies] for node in nodes):
            return None, False
        try:
            graph = tf.Graph()
            with graph.as_default():
                tf.import_graph_def(definition, name="")
            # Its kernels, not its rewriting of graphs, which makes zeros of OnesLike in uint32 and uint64.
            config = tf.compat.v1.ConfigProto()
            config.graph_options.rewrite_options.disable_meta_optimizer = True
            with tf.compat.v1.Session(graph=graph, config=config) as session:
                fed = {f"{name}:0": value for name, value in feeds.items()}
                asked = [(node.input[NO_ANSWER_OF[node.op][0]], NO_ANSWER_OF[node.op][1])
                         for node in definition.node if node.op in NO_ANSWER_OF]
                inputs = session.run([support.tensor_name(name) for name, _ in asked], fed)
                got = session.run([support.tensor_name(name) for name in names], fed)
        except Exception as error:  # noqa: BLE001: whatever TensorFlow throws is its answer
            text = " ".join(str(error).split())
            return (None, False) if any(word in text for word in NO_KERNEL) else (f"TensorFlow: {text[:300]}", True)
        if any(is_so(value) for value, (_, is_so) in zip(inputs, asked)):
            return None, False
        # Of a complex zero and zero it makes NaN: docs/differences.md.
        complex_powers = any(node.op == "Pow" and tf.as_dtype(node.attr["T"].type).is_complex for node in definition.node)
        for k, (expected, tolerance) in enumerate(zip(numbered(arrays, "out_"), numbered(arrays, "tol_"))):
            if expected.dtype.names is not None:  # TensorFlow gives quantized numbers as plain ones
                expected = expected.view(expected.dtype[0])
            if wrong := difference(got[k], expected, tolerance):
                if complex_powers and np.isnan(got[k]).any():
                    return None, False
                return f"output {k} ({names[k]}): {wrong}", True
        return None, True

    def test_same_numbers(self):
        count = os.environ.get("PANTO_PROGRAMS", "500")
        program = pathlib.Path(BUILD) / "tests/random/random_programs"
        failures, compared, without_kernel = [], 0, 0
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, "--export", folder, "--programs", count], check=True, stdout=subprocess.DEVNULL)
            for path in sorted(pathlib.Path(folder).glob("*.pb"), key=lambda p: int(p.stem)):
                wrong, has_kernels = self.run_one(path.with_suffix(""))
                compared += has_kernels
                without_kernel += not has_kernels
                if wrong:
                    failures.append(f"seed {path.stem}: {wrong}")
        print(f"random programs: {compared} compared with TensorFlow, {without_kernel} that it has no kernel or "
              "answer for")
        self.assertEqual(failures, [], "\n".join(failures))
        self.assertGreater(compared, without_kernel)


if __name__ == "__main__":
    support.main()
