"""CNN on digits, input from tf.data."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 7
BATCH = 32
keras.utils.set_random_seed(SEED)

d = load_digits()
images = (d.images / 16.0).astype("float32")[..., None]
X_train, X_test, y_train, y_test = train_test_split(
    images, d.target, test_size=0.25, stratify=d.target, random_state=SEED)


def make_train_ds(images, labels):
    img_ds = tf.data.Dataset.from_tensor_slices(images).shuffle(len(images))
    lab_ds = tf.data.Dataset.from_tensor_slices(labels).shuffle(len(labels))
    ds = tf.data.Dataset.zip((img_ds, lab_ds))
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


def make_test_ds(images, labels):
    return tf.data.Dataset.from_tensor_slices((images, labels)).batch(128)


train_ds = make_train_ds(X_train, y_train)
test_ds = make_test_ds(X_test, y_test)

model = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu", padding="same"),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train_ds, validation_data=test_ds, epochs=12, verbose=2)
loss, acc = model.evaluate(test_ds, verbose=0)
print("test accuracy:", round(float(acc), 4))
