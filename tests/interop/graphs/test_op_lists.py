"""Op lists: what TensorFlow's registry says of the ops that Pantograph has too, and whether it reads what we write."""

import json
import pathlib
import re
import tempfile
import unittest

import support
from google.protobuf import text_format
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session


def registered():
    """TensorFlow's OpDefs, by name."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    listed = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    return {op.name: op for op in listed.op}


# Ops that no stored call, stored graph or script here names, and where they are compared with TensorFlow, or why not.
ELSEWHERE = {
    r".*(Dataset|Iterator)\w*|.*(SeedGenerator|MemoryCache)|Optional\w+": "tf.data writes them: test_datasets.py",
    r"Write\w*Summary|\w*Summary(File)?Writer|ImportEvent|TensorSummary": "tf.summary writes them: test_summaries.py",
    r"(Ordered)?Map(Clear|IncompleteSize|Peek|Size|Stage|Unstage|UnstageNoKey)": "what a process holds has no stored answer",
    r"Anonymous\w*Table\w*|TensorArray\w*|TensorList\w*|Stack\w*|Queue\w*|(Get|Delete)Session\w+": "handles, of a "
    "process's own: test_tables.py, test_lists.py, test_queues.py, test_sessions.py",
    r"(I|R|IR)?FFTND|Segment(Max|Min|Prod|Sum)V2|TileGrad|CTCLossV2|MatrixExponential|MaxPoolGradGradWithArgmax": "no "
    "kernel for CPUs in TensorFlow",
    r"QuantizedReluX": "no kernel in TensorFlow's packages",
    r"(Eager)?PyFunc\w*": "they call Python",
    r"(S|Des)erialize(Many)?Sparse|(Add|Take)\w*Sparse\w*TensorsMap": "variants, and bytes that end with 0",
    r"Save\w*|Restore\w*|ReadFile|WriteFile|MatchingFiles": "files: test_savers.py, test_checkpoints.py",
    r"Eig|SelfAdjointEig\w*": "vectors whose signs and order differ: tests/ops/linalg_test.cc",
    r"Empty|FakeParam|ImmutableConst|Abort|ControlTrigger": "no values of their own",
    r"Stateless(If|Case|While)|StatefulPartitionedCall|SymbolicGradient": "functions: test_functions.py",
    r"StatefulRandomBinomial": "TensorFlow's numbers depend on threads",
}


@support.needs_panto
class OpLists(unittest.TestCase):
    def setUp(self):
        self.theirs = registered()
        self.ours = text_format.Parse(support.panto("ops", "--pbtxt"), op_def_pb2.OpList())

    def test_tensorflow_reads_ours(self):
        self.assertGreater(len(self.ours.op), 300)
        shared = [op for op in self.ours.op if op.name in self.theirs and not op.name.startswith("_")]
        self.assertGreater(len(shared), 250)
        for op in shared:
            with self.subTest(op.name):
                theirs = self.theirs[op.name]
                self.assertEqual([a.name for a in op.input_arg], [a.name for a in theirs.input_arg])
                self.assertEqual([a.name for a in op.output_arg], [a.name for a in theirs.output_arg])

    def test_signatures_are_the_same(self):
        names = [op.name for op in self.ours.op if op.name in self.theirs]
        listed = op_def_pb2.OpList(op=[self.theirs[name] for name in names])
        # Signatures here have no tensors as defaults; what TensorFlow takes then the importer knows.
        for attr in (attr for op in listed.op for attr in op.attr if attr.type == "tensor"):
            attr.ClearField("default_value")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "theirs.pbtxt"
            path.write_text(text_format.MessageToString(listed))
            *lines, totals = support.panto("ops", "--compare", path).splitlines()
        # What may differ: types, of which each library has some that the other has not.
        lines = [re.sub(r"attribute \w+: types: [^;]*(; |$)", "", line) for line in lines]
        lines = [line for line in lines if not line.endswith(": ")]
        # Handles of accumulators and barriers are references there, resources here.
        lines = [line for line in lines
                 if not re.fullmatch(r"\w*(Accumulator|Barrier)\w*: argument handle: expected a value, got a reference", line)]
        # Both libraries have ops of these names of their own, which no file for others holds.
        lines = [line for line in lines if not line.startswith(("_FusedConv2D: ", "_FusedDepthwiseConv2dNative: "))]
        self.maxDiff = None
        self.assertEqual(lines, [])
        self.assertRegex(totals, r"^\d+ the same, ")


    def test_every_op_is_compared_somewhere(self):
        shared = {op.name for op in self.ours.op if op.name in self.theirs and not op.name.startswith("_")}
        for name in ("ops", "parsing", "random", "numeric", "every"):
            document = json.loads((support.REFERENCE / "values" / f"{name}.json").read_text())
            shared -= {case["op"] for case in document["cases"] + document.get("sequences", [])}
        for path in (support.REFERENCE / "graphs").glob("*.pb*"):
            graph = support.read_graph_def(path)
            bodies = [node for function in graph.library.function for node in function.node_def]
            shared -= {node.op for node in [*graph.node, *bodies]}
        folders = (support.ROOT / "tests" / "interop", support.REFERENCE)
        scripts = "".join(path.read_text() for folder in folders for path in folder.rglob("*_*.py"))
        named = set(re.findall(r"[A-Z]\w+", scripts[scripts.find("import") :]))
        left = [op for op in sorted(shared - named) if not any(re.fullmatch(form, op) for form in ELSEWHERE)]
        self.assertEqual(left, [])


if __name__ == "__main__":
    support.main()
