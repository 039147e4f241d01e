"""Handwritten digits with a small convnet, cosine learning-rate schedule."""
import os
os.environ["KERAS_BACKEND"] = "jax"
from dataclasses import dataclass

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass
class Config:
    epochs: int = 12
    batch_size: int = 32
    lr: float = 0.05
    momentum: float = 0.9
    seed: int = 3


def load(cfg):
    digits = load_digits()
    x = (digits.images / 16.0).astype("float32")[..., None]
    y = digits.target.astype("int32")
    return train_test_split(x, y, test_size=0.2, random_state=cfg.seed, stratify=y)


def build_model():
    inputs = keras.Input((8, 8, 1))
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(32, activation="relu")(x)
    outputs = layers.Dense(10, activation="softmax")(x)
    return keras.Model(inputs, outputs, name="digits_cnn")


def main():
    cfg = Config()
    keras.utils.set_random_seed(cfg.seed)
    x_train, x_test, y_train, y_test = load(cfg)

    steps_per_epoch = int(np.ceil(len(x_train) / cfg.batch_size))
    print("steps per epoch:", steps_per_epoch)

    schedule = keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=cfg.lr,
        decay_steps=cfg.epochs,
    )
    model = build_model()
    model.compile(
        optimizer=keras.optimizers.SGD(schedule, momentum=cfg.momentum),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(
        x_train, y_train,
        batch_size=cfg.batch_size,
        epochs=cfg.epochs,
        validation_data=(x_test, y_test),
        verbose=2,
    )
    loss, acc = model.evaluate(x_test, y_test, verbose=0)
    print(f"final test loss {loss:.4f} accuracy {acc:.4f}")


if __name__ == "__main__":
    main()
