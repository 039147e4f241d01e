"""Texts whose words have other ids in evaluation than in training."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers

from stepwatch.hooks.keras import KerasHook
from stepwatch.rules import watch
from stepwatch.trial import Trial

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="its layers are used"),
]
WORDS = np.array([f"word{number}" for number in range(30)])


def texts(count, seed, skew=1.0):
    """Return texts of six words, some of which are more frequent, from another one on each time."""
    rng = np.random.default_rng(seed)
    shares = np.roll(1 / np.arange(1, 31) ** skew, 7 * seed)
    return [" ".join(rng.choice(WORDS, 6, p=shares / shares.sum())) for _ in range(count)]


def vectorization(adapted_on, **options):
    made = layers.TextVectorization(**{"max_tokens": 40, "output_sequence_length": 6, **options})
    made.adapt(adapted_on)
    return made


def ids(layer, given):
    return layer(keras.ops.convert_to_tensor(given)).numpy()


def classifier():
    model = keras.Sequential([layers.Embedding(40, 4), layers.GlobalAveragePooling1D()])
    model.add(layers.Dense(1, "sigmoid"))
    model.compile("adam", "binary_crossentropy")
    return model


def conditions(run, train):
    with KerasHook(run=run, say=lambda _: None, strict=True):
        train()
    return [one.condition.partition(" ")[0] for one in watch(Trial(run), ["setup"])]


TRAIN, TEST = texts(64, 0), texts(32, 1)
Y = np.arange(64) % 2


@pytest.mark.parametrize("how", ["evaluate", "predict", "validation"])
@pytest.mark.parametrize("adapts_anew", [True, False])
def test_a_vocabulary_of_the_test_texts_is_named(adapts_anew, how, tmp_path):
    def train():
        of_training = vectorization(TRAIN)
        x = ids(of_training, TRAIN)
        of_test = vectorization(TEST) if adapts_anew else of_training
        x_test, model = ids(of_test, TEST), classifier()
        held_out = {"validation_data": (x_test, Y[:32])} if how == "validation" else {}
        model.fit(x, Y, epochs=1, verbose=0, **held_out)
        if how == "evaluate":
            model.evaluate(x_test, Y[:32], verbose=0)
        elif how == "predict":
            model.predict(x_test, verbose=0)

    assert (["readapted"] if adapts_anew else []) == conditions(tmp_path / "run", train)


def test_so_is_one_of_layers_that_nobody_keeps(tmp_path):
    """A function vectorizes texts by a layer of its own, and returns the ids."""

    def train():
        x, x_test = (ids(vectorization(one), one) for one in (TRAIN, TEST))
        classifier().fit(x, Y, epochs=1, verbose=0, validation_data=(x_test, Y[:32]))

    assert ["readapted"] == conditions(tmp_path / "run", train)


def test_one_that_is_made_anew_with_the_same_words_is_meant(tmp_path):
    """As where a service loads what was saved, or adapts on the same texts."""

    def train():
        model = classifier()
        model.fit(ids(vectorization(TRAIN), TRAIN), Y, epochs=1, verbose=0)
        model.predict(ids(vectorization(TRAIN), TEST), verbose=0)

    assert [] == conditions(tmp_path / "run", train)


def test_each_column_and_each_fold_may_have_its_own(tmp_path):
    """Titles and texts have different words, and what is trained anew is adapted anew."""

    def train():
        of_title, of_text = vectorization(TRAIN), vectorization(texts(64, 2))
        title, text = layers.Input((6,)), layers.Input((6,))
        embedded = [layers.Flatten()(layers.Embedding(40, 2)(one)) for one in (title, text)]
        output = layers.Dense(1, "sigmoid")(layers.Concatenate()(embedded))
        model = keras.Model([title, text], output)
        model.compile("adam", "binary_crossentropy")
        both = [ids(of_title, TRAIN), ids(of_text, texts(64, 2))]
        model.fit(both, Y, epochs=1, verbose=0)
        model.predict([ids(of_title, TEST), ids(of_text, texts(32, 3))], verbose=0)
        for fold in (4, 5):
            layer, model = vectorization(texts(64, fold)), classifier()
            model.fit(ids(layer, texts(64, fold)), Y, epochs=1, verbose=0)
            model.evaluate(ids(layer, TEST), Y[:32], verbose=0)

    assert [] == conditions(tmp_path / "run", train)
