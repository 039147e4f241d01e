"""Data sets of Keras models: labels read in another order, and batches changed in place."""

from __future__ import annotations

import runpy

import pytest

from stepwatch.hooks.data_reads import DataReads

MODEL = """
import keras, numpy as np
X, Y = np.random.rand(32, 3).astype("float32"), np.arange(32) % 2
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
"""
LOADED = f"""{MODEL}
import torch
pairs = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
data = torch.utils.data.DataLoader(pairs, 8, shuffle=True)
"""
PREDICTED = "predicted = model.predict(data, verbose=0)\n"


def found(tmp_path, code):
    """Run a script; return what is found of how it reads its data."""
    script = tmp_path / "script.py"
    script.write_text(code)
    reads = DataReads()
    reads.begin()
    try:
        runpy.run_path(str(script))
        return [
            info.name.removeprefix("evaluation/").partition("/")[0] for info, _ in reads.found()
        ]
    finally:
        reads.end()


@pytest.mark.parametrize(
    "code",
    [
        PREDICTED + "labels = [y for x, y in data]",
        "labels = []\nfor _, y in data:\n    labels.append(y)\n" + PREDICTED,
    ],
    ids=["after", "before"],
)
def test_labels_that_are_read_in_a_pass_of_their_own_are_found(tmp_path, code):
    pytest.importorskip("torch")

    assert ["reshuffled"] == found(tmp_path, LOADED + code)


@pytest.mark.parametrize(
    "code",
    [
        PREDICTED + "pairs = [(x, y) for x, y in data]",
        "labels = [y for x, y in data]",
        PREDICTED,
        "data = torch.utils.data.DataLoader(pairs, 8)\n"
        + PREDICTED
        + "labels = [y for x, y in data]",
        "for x, y in data:\n    predicted = model.predict_on_batch(np.asarray(x)), y",
    ],
    ids=["samples too", "not predicted", "not read", "in order", "in one pass"],
)
def test_other_ways_to_read_them_are_no_fault(tmp_path, code):
    pytest.importorskip("torch")

    assert [] == found(tmp_path, LOADED + code)


def test_a_data_set_of_tensorflow_is_known_by_what_shuffles_it(tmp_path):
    pytest.importorskip("tensorflow")
    made = f"{MODEL}import tensorflow as tf\n"
    made += "data = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(32).batch(8)\n"
    labels = "labels = [y for x, y in data.unbatch()]"

    assert ["reshuffled"] == found(tmp_path, made + PREDICTED + labels)
    assert [] == found(tmp_path, f"{made}data = data.cache()\n{PREDICTED}{labels}")


def test_an_iterator_of_pictures_has_its_labels_in_the_order_of_files(tmp_path):
    made = f"""{MODEL}
from keras.src.legacy.preprocessing.image import ImageDataGenerator
model = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Flatten(), keras.layers.Dense(2)])
X = np.random.rand(32, 4, 4, 1)
"""
    flow = "data = ImageDataGenerator().flow(X, Y, batch_size=8{})\n"
    labels = "right = predicted.argmax(1) == data.y"

    assert ["reshuffled"] == found(tmp_path, made + flow.format("") + PREDICTED + labels)
    assert [] == found(tmp_path, made + flow.format(", shuffle=False") + PREDICTED + labels)


@pytest.mark.parametrize(("change", "expected"), [("*= 0.5", ["changed_by_reading"]), ("+ 1", [])])
def test_batches_of_a_data_set_that_are_changed_in_place_are_found(tmp_path, change, expected):
    code = f"""{MODEL}
class Parts(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()
        self.x = X.copy()
    def __len__(self):
        return 4
    def __getitem__(self, place):
        part = self.x[8 * place : 8 * place + 8]
        part {change}
        return part, Y[8 * place : 8 * place + 8]
model.fit(Parts(), epochs=4, verbose=0)
"""
    assert expected == found(tmp_path, code)


@pytest.mark.parametrize(
    ("options", "expected"), [("", ["split_anew"]), (", reshuffle_each_iteration=False", [])]
)
def test_a_shuffle_before_the_split_makes_another_one_in_each_epoch(tmp_path, options, expected):
    pytest.importorskip("tensorflow")
    code = f"""{MODEL}
import tensorflow as tf
data = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(32{options})
model.fit(data.skip(8).shuffle(24).batch(8), validation_data=data.take(8).batch(8), verbose=0)
"""
    assert expected == found(tmp_path, code)
