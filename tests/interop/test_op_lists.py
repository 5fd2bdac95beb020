"""Op lists: what TensorFlow's registry says of the ops that Pantograph has too, and whether it reads what we write."""

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
        # Both libraries have an op of this name of their own, which no file for others holds.
        lines = [line for line in lines if not line.startswith("_FusedConv2D: ")]
        self.maxDiff = None
        self.assertEqual(lines, [])
        self.assertRegex(totals, r"^\d+ the same, ")


if __name__ == "__main__":
    support.main()
