"""Trains the body that `panto train transfer` loads: Keras's convolutions on the digits 0 to 4.

    build/venv/bin/python3 apps/programs/transfer_body.py      # writes apps/data/transfer/body.npz
"""

import gzip
import pathlib

import keras
import numpy as np
from keras import layers

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def digits(prefix):
    def idx(name, skip):
        return np.frombuffer(gzip.decompress((DATA / "mnist10k" / name).read_bytes()), np.uint8, offset=skip)

    images = idx(f"{prefix}-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1).astype(np.float32) / 255
    labels = idx(f"{prefix}-labels-idx1-ubyte.gz", 8)
    return images[labels < 5], labels[labels < 5]


def main():
    keras.utils.set_random_seed(1)
    body = keras.Sequential([
        keras.Input((28, 28, 1)),
        layers.Conv2D(16, 3, activation="relu", name="conv2d"), layers.MaxPool2D(),
        layers.Conv2D(16, 3, activation="relu", name="conv2d_1"), layers.MaxPool2D(),
        layers.Flatten()])
    model = keras.Sequential([body, layers.Dropout(0.3), layers.Dense(64, activation="relu"), layers.Dense(5)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(*digits("train"), batch_size=50, epochs=4, verbose=2)
    print(model.evaluate(*digits("t10k"), verbose=0))
    arrays = {f"{layer.name}/{weight.name}": weight.numpy() for layer in body.layers for weight in layer.weights}
    (DATA / "transfer").mkdir(exist_ok=True)
    np.savez_compressed(DATA / "transfer" / "body.npz", **arrays)


if __name__ == "__main__":
    main()
