# CNN with tf.data pipeline (assignment 4)
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 55
keras.utils.set_random_seed(SEED)

BATCH_SIZE = 32
EPOCHS = 12

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., np.newaxis]
labels = digits.target.astype("int64")
x_train, x_val, y_train, y_val = train_test_split(images, labels, test_size=0.2, random_state=SEED)


def get_train_dataset():
    image_ds = tf.data.Dataset.from_tensor_slices(x_train)
    label_ds = tf.data.Dataset.from_tensor_slices(y_train)
    image_ds = image_ds.shuffle(len(x_train))
    label_ds = label_ds.shuffle(len(x_train))
    ds = tf.data.Dataset.zip((image_ds, label_ds))
    return ds.batch(BATCH_SIZE).prefetch(2)


def get_val_dataset():
    ds = tf.data.Dataset.from_tensor_slices((x_val, y_val))
    return ds.batch(BATCH_SIZE)


def get_model():
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(10, activation="softmax"),
    ])


model = get_model()
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(get_train_dataset(), validation_data=get_val_dataset(), epochs=EPOCHS, verbose=2)
loss, acc = model.evaluate(get_val_dataset(), verbose=0)
print("Validation loss:", round(loss, 4))
print("Validation accuracy:", round(acc, 4))
