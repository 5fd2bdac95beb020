"""Makes the reference values in this folder anew: `python tests/reference/generate.py [FOLDER]`.

Needs tests/interop/requirements.txt installed. Writes into this folder, or into FOLDER to compare.
"""

import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Plain Eigen kernels: oneDNN's sum in another order, depending on the machine.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import graphs
import op_cases
import random_cases
import tensorflow as tf
import training_cases

tf.get_logger().setLevel("ERROR")


def main():
    folder = pathlib.Path(sys.argv[1]) if sys.argv[1:] else HERE
    (folder / "graphs").mkdir(parents=True, exist_ok=True)
    cases = op_cases.make()
    cases.save(folder, "ops")
    randoms, sequences = random_cases.make()
    randoms.save(folder, "random", sequences=sequences)
    graphs.make(folder / "graphs")
    training = training_cases.make(folder / "training.npz")
    made = [path for path in folder.rglob("*") if path.suffix in (".json", ".npz", ".pb", ".pbtxt")]
    print(
        f"{len(cases.cases)} op cases, {len(randoms.cases)} stateless and {len(sequences)} stateful random cases, "
        f"{len(graphs.BINARY + graphs.TEXT)} graphs, {len(training)} arrays of training; {sum(path.stat().st_size for path in made)} bytes"
    )


if __name__ == "__main__":
    main()
