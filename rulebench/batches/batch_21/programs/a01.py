import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)

BATCH_SIZE = 32
EPOCHS = 8


def load_class_folders():
    """Returns the digit images the way a directory reader would: one class folder at a time."""
    images, target = load_digits(return_X_y=True)
    images = (images / 16.0).astype("float32").reshape(-1, 8, 8, 1)
    train_x, train_y, test_x, test_y = [], [], [], []
    for digit in range(10):
        of_class = images[target == digit]
        n_train = int(0.8 * len(of_class))
        train_x.append(of_class[:n_train])
        train_y.append(np.full(n_train, digit))
        test_x.append(of_class[n_train:])
        test_y.append(np.full(len(of_class) - n_train, digit))
    return (np.concatenate(train_x), np.concatenate(train_y),
            np.concatenate(test_x), np.concatenate(test_y))


train_x, train_y, test_x, test_y = load_class_folders()
print("train", train_x.shape, "test", test_x.shape)

train_ds = (
    tf.data.Dataset.from_tensor_slices((train_x, train_y))
    .cache()
    .batch(BATCH_SIZE)
    .shuffle(4)
    .prefetch(tf.data.AUTOTUNE)
)
test_ds = tf.data.Dataset.from_tensor_slices((test_x, test_y)).batch(128)


def build():
    inputs = keras.Input((8, 8, 1))
    h = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    h = layers.Conv2D(32, 3, padding="same", activation="relu")(h)
    h = layers.MaxPooling2D()(h)
    h = layers.Flatten()(h)
    h = layers.Dense(64, activation="relu")(h)
    outputs = layers.Dense(10)(h)
    return keras.Model(inputs, outputs)


model = build()
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(train_ds, validation_data=test_ds, epochs=EPOCHS, verbose=2)
print("best val accuracy", max(history.history["val_accuracy"]))
print("final val accuracy", history.history["val_accuracy"][-1])
