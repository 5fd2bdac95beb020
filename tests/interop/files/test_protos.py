"""Our .proto files against TensorFlow's own descriptors, and files of one read through the other."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import support
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format, wrappers_pb2

PROTO_FOLDER = support.ROOT / "lib" / "graph" / "proto"
OURS, THEIRS = ".panto.graphdef.", ".tensorflow."
# Messages and enums of TensorFlow's files that ours leave out: they supervise workers, and are in no file.
LEFT_OUT = {
    "event.proto": {"RequestedExitCode", "WatchdogConfig", "WorkerHealth", "WorkerHeartbeatRequest",
                    "WorkerHeartbeatResponse", "WorkerShutdownMode"},
    "example.proto": {"FeatureList", "FeatureLists", "FeatureLists.FeatureListEntry", "SequenceExample"},
}


def compile_protos():
    """All our files as a FileDescriptorSet, by protoc, under the import paths that the C++ build uses."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(support.ROOT, pathlib.Path(folder) / "panto")
        names = [f"panto/lib/graph/proto/{path.name}" for path in sorted(PROTO_FOLDER.glob("*.proto"))]
        output = pathlib.Path(folder) / "descriptors.pb"
        subprocess.run(
            [os.environ.get("PROTOC", "protoc"), f"-I{folder}", f"--descriptor_set_out={output}", *names], check=True
        )
        return descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes())


def tensorflow_files():
    """TensorFlow's descriptors of the files with the same names."""
    from tensorflow.compiler.xla.tsl.protobuf import histogram_pb2
    from tensorflow.core.example import example_pb2, feature_pb2
    from tensorflow.core.framework import (
        attr_value_pb2,
        full_type_pb2,
        function_pb2,
        graph_debug_info_pb2,
        graph_pb2,
        node_def_pb2,
        op_def_pb2,
        resource_handle_pb2,
        summary_pb2,
        tensor_pb2,
        tensor_shape_pb2,
        tensor_slice_pb2,
        types_pb2,
        versions_pb2,
    )
    from tensorflow.core.protobuf import tensor_bundle_pb2, trackable_object_graph_pb2
    from tensorflow.core.util import event_pb2, saved_tensor_slice_pb2
    from tensorflow.python.training import checkpoint_state_pb2

    modules = [
        attr_value_pb2,
        checkpoint_state_pb2,
        event_pb2,
        example_pb2,
        full_type_pb2,
        function_pb2,
        graph_debug_info_pb2,
        graph_pb2,
        histogram_pb2,
        node_def_pb2,
        op_def_pb2,
        resource_handle_pb2,
        saved_tensor_slice_pb2,
        summary_pb2,
        tensor_bundle_pb2,
        tensor_pb2,
        tensor_shape_pb2,
        tensor_slice_pb2,
        trackable_object_graph_pb2,
        types_pb2,
        versions_pb2,
    ]
    files = {}
    for module in modules:
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        files[pathlib.PurePath(file.name).name] = file
    # Ours has both files' messages.
    feature_pb2.DESCRIPTOR.CopyToProto(features := descriptor_pb2.FileDescriptorProto())
    files["example.proto"].message_type.extend(features.message_type)
    return files


def describe_field(field, message, file, package):
    """Everything about a field that shows in a binary or text file."""
    repeated = field.label == field.LABEL_REPEATED
    scalar = repeated and field.type not in (field.TYPE_STRING, field.TYPE_BYTES, field.TYPE_MESSAGE)
    if scalar and field.options.HasField("packed"):
        packed = field.options.packed
    else:
        packed = scalar and file.syntax == "proto3"
    return {
        "name": field.name,
        "number": field.number,
        "type": field.Type.Name(field.type),
        "type_name": field.type_name.removeprefix(package),
        "label": field.Label.Name(field.label),
        "packed": packed,
        "oneof": message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None,
        "default": field.default_value,
        "deprecated": field.options.deprecated,
    }


def describe(file, package):
    """{full name: fields, values, reserved numbers} of every message and enum in a file."""
    found = {}

    def enum(prefix, item):
        found[prefix + item.name] = {value.name: value.number for value in item.value}

    def message(prefix, item):
        name = prefix + item.name
        found[name] = {
            "fields": {field.number: describe_field(field, item, file, package) for field in item.field},
            "reserved": [(part.start, part.end) for part in item.reserved_range],
            "map_entry": item.options.map_entry,
        }
        for nested in item.nested_type:
            message(name + ".", nested)
        for nested in item.enum_type:
            enum(name + ".", nested)

    for item in file.message_type:
        message("", item)
    for item in file.enum_type:
        enum("", item)
    return found


class Descriptors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ours = {pathlib.PurePath(file.name).name: file for file in compile_protos().file}
        cls.theirs = tensorflow_files()

    def test_same_files(self):
        self.assertEqual(sorted(self.ours), sorted(self.theirs))

    def test_same_messages_and_enums(self):
        for name, file in self.ours.items():
            ours, theirs = describe(file, OURS), describe(self.theirs[name], THEIRS)
            for item in LEFT_OUT.get(name, ()):
                del theirs[item]
            self.assertEqual(sorted(ours), sorted(theirs), name)
            for item in ours:
                with self.subTest(item):
                    self.assertEqual(ours[item], theirs[item])

    def test_same_syntax(self):
        for name, file in self.ours.items():
            self.assertEqual(file.syntax, self.theirs[name].syntax, name)

    def test_own_package(self):
        self.assertEqual({file.package for file in self.ours.values()}, {"panto.graphdef"})


class Files(unittest.TestCase):
    """A graph that uses every corner of the format, written by one side and read by the other."""

    @classmethod
    def setUpClass(cls):
        pool = descriptor_pool.DescriptorPool()
        cls.add_all(pool, {file.name: file for file in compile_protos().file})
        cls.graph_def = message_factory.GetMessageClass(pool.FindMessageTypeByName("panto.graphdef.GraphDef"))
        cls.op_list = message_factory.GetMessageClass(pool.FindMessageTypeByName("panto.graphdef.OpList"))

    @staticmethod
    def add_all(pool, files):
        """Adds the files, those that others import first."""
        pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)  # protobuf's own
        added = {wrappers_pb2.DESCRIPTOR.name}

        def add(name):
            if name not in added:
                added.add(name)
                for dependency in files[name].dependency:
                    add(dependency)
                pool.AddSerializedFile(files[name].SerializeToString())

        for name in files:
            add(name)

    @staticmethod
    def rich_graph():
        import tensorflow as tf

        @tf.function
        def double_until(x, limit):
            return tf.while_loop(lambda v: tf.reduce_sum(v) < limit, lambda v: (v * 2.0,), (x,))[0]

        graph = tf.Graph()
        with graph.as_default():
            x = tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")
            with tf.device("/device:CPU:0"):
                y = double_until(tf.nn.relu(x), 9.0)
            variable = tf.Variable(np_ones(), name="v", dtype=tf.float32)
            with tf.control_dependencies([y]):
                tf.raw_ops.AssignVariableOp(resource=variable.handle, value=y)
            tf.constant([b"text", b"\xff\x00"], name="strings")
            tf.constant(1.5, tf.bfloat16, [3])
            tf.constant([1 + 2j], name="complex")
            tf.constant(7, tf.uint64)
        definition = graph.as_graph_def(add_shapes=True)
        definition.node[0].experimental_debug_info.original_node_names.append("made by a pass")
        definition.node[0].experimental_type.type_id = 1000
        definition.debug_info.files.append("model.py")
        trace = definition.debug_info.traces["x"].file_line_cols.add()
        trace.line, trace.col = 3, 0
        return definition

    def test_binary(self):
        theirs = self.rich_graph()
        ours = self.graph_def.FromString(theirs.SerializeToString(deterministic=True))
        self.assert_nothing_unknown(ours)
        self.assertEqual(ours.SerializeToString(deterministic=True), theirs.SerializeToString(deterministic=True))

    def test_text(self):
        theirs = self.rich_graph()
        ours = text_format.Parse(text_format.MessageToString(theirs), self.graph_def())
        self.assertEqual(text_format.MessageToString(ours), text_format.MessageToString(theirs))
        self.assertEqual(text_format.Parse(text_format.MessageToString(ours), type(theirs)()), theirs)

    def test_op_list(self):
        """TensorFlow's whole op registry."""
        from tensorflow.core.framework import op_def_pb2
        from tensorflow.python.client import pywrap_tf_session

        buffer = pywrap_tf_session.TF_GetAllOpList()
        theirs = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
        self.assertGreater(len(theirs.op), 1000)
        ours = self.op_list.FromString(theirs.SerializeToString(deterministic=True))
        self.assert_nothing_unknown(ours)
        self.assertEqual(ours.SerializeToString(deterministic=True), theirs.SerializeToString(deterministic=True))

    def assert_nothing_unknown(self, message):
        """Discarding the fields the reader does not know must change nothing."""
        before = message.SerializeToString(deterministic=True)
        message.DiscardUnknownFields()
        self.assertEqual(message.SerializeToString(deterministic=True), before)


def np_ones():
    return support.np.ones((1, 2), support.np.float32)


if __name__ == "__main__":
    support.main()
