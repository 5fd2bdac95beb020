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
sys.path[:0] = [str(HERE / room) for room in ("", "ops", "training")]

import data_cases
import every_cases
import gradient_cases
import graphs
import image_layer_cases
import layer_cases
import loop_cases
import loss_cases
import media_cases
import numpy_cases
import op_cases
import optimizer_cases
import parsing_cases
import quantized_cases
import random_cases
import sampled_cases
import tensorflow as tf
import training_cases

tf.get_logger().setLevel("ERROR")


def main():
    folder = pathlib.Path(sys.argv[1]) if sys.argv[1:] else HERE
    values = folder / "values"
    for room in (values, folder / "graphs"):
        room.mkdir(parents=True, exist_ok=True)
    cases = op_cases.make()
    cases.save(values, "ops")
    parsing = parsing_cases.make()
    parsing.save(values, "parsing")
    randoms, sequences = random_cases.make()
    randoms.save(values, "random", sequences=sequences)
    sampled = sampled_cases.make()
    sampled.save(values, "numeric")
    quantized = quantized_cases.make()
    quantized.save(values, "quantized")
    every = every_cases.make(cases, sampled)
    every.save(values, "every")
    gradients = gradient_cases.make(cases, every, sampled)
    gradients.save(values, "gradients")
    graphs.make(folder / "graphs")
    training = training_cases.make(values / "training.npz") | optimizer_cases.make(values / "optimizers.npz")
    losses = loss_cases.make(values / "losses.npz")
    layers = layer_cases.make(values / "layers.npz") | image_layer_cases.make(values / "image_layers.npz")
    datasets = data_cases.make(values / "datasets.npz")
    loops = loop_cases.make(values / "loop.npz")
    media = media_cases.make(values / "media.npz")
    functions = numpy_cases.make(values / "numpy_functions.npz")
    made = [path for path in folder.rglob("*") if path.suffix in (".json", ".npz", ".pb", ".pbtxt")]
    print(
        f"{len(cases.cases)} op cases, {len(parsing.cases)} of parsing, {len(sampled.cases)} of numeric.json, "
        f"{len(quantized.cases)} of quantized.json, "
        f"{len(every.cases)} of every.json, {len(gradients.cases)} with gradients, "
        f"{len(randoms.cases)} stateless and {len(sequences)} stateful random cases, "
        f"{len(graphs.BINARY + graphs.TEXT)} graphs, {len(training)} arrays of training, {len(losses)} of losses and "
        f"metrics, {len(layers)} of layers, {len(datasets)} of datasets, {len(loops)} of training loops, "
        f"{media.count} calls with images and sound, {len(functions)} arrays of functions; "
        f"{sum(path.stat().st_size for path in made)} bytes"
    )


if __name__ == "__main__":
    main()
