"""Graphs of TensorFlow 1 with a Saver, whose ops save and restore here; and variables in parts, in checkpoints of either.
"""

import pathlib
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf

v1 = tf.compat.v1
W = np.arange(6, dtype=np.float32).reshape(3, 2)
TABLE = np.arange(10, dtype=np.float32).reshape(5, 2) / 4


def variables(resources, zeros=False):
    """One variable, and one in parts: the graph's."""
    values = (0 * W, 0 * TABLE) if zeros else (W, TABLE)
    w = v1.get_variable("w", initializer=tf.constant(values[0]), use_resource=resources)
    table = v1.get_variable(
        "table",
        shape=[5, 2],
        initializer=lambda shape, dtype, partition_info=None: tf.constant(
            values[1][partition_info.var_offset[0]:][: shape[0]]
        ),
        partitioner=v1.fixed_size_partitioner(3),
        use_resource=resources,
    )
    return w, table


def written(graph, path):
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


@support.needs_panto
class Savers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def saved_here(self, resources, **options):
        """A graph that makes its variables and then saves them, run here."""
        prefix = str(self.folder / "here" / "model.ckpt")
        with tf.Graph().as_default() as graph:
            variables(resources)
            init = v1.global_variables_initializer()
            with tf.control_dependencies([init]):
                saver = v1.train.Saver(**options)
            name = saver.saver_def.save_tensor_name
            file = saver.saver_def.filename_tensor_name
            model = written(graph, self.folder / "save.pb")
        support.panto_run(model, feeds={file: np.array(prefix)}, fetches=[name])
        return prefix

    def restored_here(self, prefix, resources, **options):
        """What a graph that restores its variables, run here, has in them."""
        with tf.Graph().as_default() as graph:
            w, table = variables(resources, zeros=True)
            saver = v1.train.Saver(**options)
            restore = graph.get_operation_by_name(saver.saver_def.restore_op_name)
            with tf.control_dependencies([restore]):
                parts = [part.read_value() for part in table]
                tf.identity(w.read_value(), "read_w")
                tf.concat(parts, 0, "read_table")
            file = saver.saver_def.filename_tensor_name
            model = written(graph, self.folder / "restore.pb")
        got = support.panto_run(model, feeds={file: np.array(prefix)}, fetches=["read_w:0", "read_table:0"])
        return got["read_w:0"], got["read_table:0"]

    def test_saved_here(self):
        for resources in (True, False):
            for options in ({}, {"sharded": True}, {"write_version": v1.train.SaverDef.V1}):
                with self.subTest(resources=resources, **options):
                    prefix = self.saved_here(resources, **options)
                    reader = v1.train.NewCheckpointReader(prefix)
                    np.testing.assert_array_equal(reader.get_tensor("w"), W)
                    np.testing.assert_array_equal(reader.get_tensor("table"), TABLE)
                    # TensorFlow's own graph restores it into other parts.
                    with tf.Graph().as_default(), v1.Session() as session:
                        table = v1.get_variable(
                            "table", shape=[5, 2], partitioner=v1.fixed_size_partitioner(2), use_resource=resources
                        )
                        v1.train.Saver({"table": table}).restore(session, prefix)
                        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(table)), TABLE)

    def test_restored_here(self):
        for resources in (True, False):
            for options in ({}, {"sharded": True}, {"write_version": v1.train.SaverDef.V1}):
                with self.subTest(resources=resources, **options):
                    with tf.Graph().as_default(), v1.Session() as session:
                        variables(resources)
                        session.run(v1.global_variables_initializer())
                        saver = v1.train.Saver(**options)
                        prefix = saver.save(session, str(self.folder / "there" / "model.ckpt"), write_meta_graph=False)
                    if options.get("write_version") is None:
                        w, table = self.restored_here(prefix, resources, **options)
                        np.testing.assert_array_equal(w, W)
                        np.testing.assert_array_equal(table, TABLE)
                    w, table = self.restored_here(prefix, resources)
                    np.testing.assert_array_equal(w, W)
                    np.testing.assert_array_equal(table, TABLE)

    def test_ours_and_theirs(self):
        """What is saved here is restored here, and read as a whole."""
        prefix = self.saved_here(True)
        w, table = self.restored_here(prefix, True)
        np.testing.assert_array_equal(w, W)
        np.testing.assert_array_equal(table, TABLE)

    def test_refused(self):
        prefix = self.saved_here(True)
        with self.assertRaisesRegex(support.PantoFailed, "PermissionDenied"):
            with tf.Graph().as_default() as graph:
                tf.identity(tf.raw_ops.RestoreV2(
                    prefix=prefix, tensor_names=["w"], shape_and_slices=[""], dtypes=[tf.float32])[0], "w")
            support.panto_run(written(graph, self.folder / "r.pb"), fetches=["w:0"], options=["--no-files"])


if __name__ == "__main__":
    support.main()
