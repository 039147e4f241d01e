import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 42
keras.utils.set_random_seed(SEED)
BATCH = 64

digits = load_digits()
X = (digits.images / 16.0).astype("float32")[..., None]
y = digits.target
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=SEED)

# input pipeline: light augmentation on the images, one-hot on the labels
noise = keras.layers.GaussianNoise(0.05)
images = tf.data.Dataset.from_tensor_slices(X_tr).shuffle(2000).map(lambda im: noise(im, training=True))
labels = tf.data.Dataset.from_tensor_slices(y_tr).shuffle(2000).map(lambda l: tf.one_hot(l, 10))
train_ds = tf.data.Dataset.zip((images, labels)).batch(BATCH).prefetch(tf.data.AUTOTUNE)
val_ds = tf.data.Dataset.from_tensor_slices((X_te, tf.one_hot(y_te, 10))).batch(256)

model = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(32, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Conv2D(64, 3, activation="relu", padding="same"),
    layers.Flatten(),
    layers.Dropout(0.3),
    layers.Dense(64, activation="relu"),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="categorical_crossentropy", metrics=["accuracy"])
model.summary()
model.fit(train_ds, validation_data=val_ds, epochs=15, verbose=2)
print("test:", model.evaluate(val_ds, verbose=0))
