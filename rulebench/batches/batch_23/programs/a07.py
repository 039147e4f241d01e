import os
os.environ["KERAS_BACKEND"] = "torch"

from dataclasses import dataclass

import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass
class Config:
    epochs: int = 8
    batch_size: int = 32
    lr: float = 2e-3
    final_lr: float = 1e-6
    power: float = 1.0
    seed: int = 42


cfg = Config()
keras.utils.set_random_seed(cfg.seed)

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., None]
labels = digits.target.astype("int32")
x_train, x_test, y_train, y_test = train_test_split(
    images, labels, test_size=0.25, random_state=cfg.seed, stratify=labels)


def conv_block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same")(x)
    x = layers.LayerNormalization()(x)
    return layers.Activation("relu")(x)


inputs = keras.Input((8, 8, 1))
x = conv_block(inputs, 16)
x = layers.MaxPooling2D()(x)
x = conv_block(x, 32)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.1)(x)
outputs = layers.Dense(10, activation="softmax")(x)
model = keras.Model(inputs, outputs)

steps_per_epoch = int(np.ceil(len(x_train) / cfg.batch_size))
print(f"{len(x_train)} training images, {steps_per_epoch} steps per epoch")

schedule = keras.optimizers.schedules.PolynomialDecay(
    initial_learning_rate=cfg.lr,
    decay_steps=cfg.epochs,
    end_learning_rate=cfg.final_lr,
    power=cfg.power,
)
model.compile(
    optimizer=keras.optimizers.AdamW(schedule, weight_decay=1e-4),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)

history = model.fit(
    x_train, y_train,
    validation_data=(x_test, y_test),
    epochs=cfg.epochs,
    batch_size=cfg.batch_size,
    verbose=2,
)

pred = model.predict(x_test, verbose=0).argmax(1)
per_class = [float((pred[y_test == c] == c).mean()) for c in range(10)]
print("test accuracy:", float((pred == y_test).mean()))
print("recall per digit:", np.round(per_class, 2).tolist())
