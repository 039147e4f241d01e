import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(13)

BATCH_SIZE = 64
EPOCHS = 15

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., None]
labels = digits.target.astype("int32")
x_train, x_val, y_train, y_val = train_test_split(
    images, labels, test_size=0.2, stratify=labels, random_state=0
)
print("train:", x_train.shape, "val:", x_val.shape)


def make_dataset(x, y, training):
    img_ds = tf.data.Dataset.from_tensor_slices(x)
    img_ds = img_ds.map(lambda im: tf.image.resize(im, (16, 16)))
    lbl_ds = tf.data.Dataset.from_tensor_slices(y)
    if training:
        img_ds = img_ds.shuffle(len(x))
        lbl_ds = lbl_ds.shuffle(len(x))
    ds = tf.data.Dataset.zip((img_ds, lbl_ds))
    return ds.batch(BATCH_SIZE).prefetch(tf.data.AUTOTUNE)


train_ds = make_dataset(x_train, y_train, training=True)
val_ds = make_dataset(x_val, y_val, training=False)

model = keras.Sequential(
    [
        keras.Input(shape=(16, 16, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.summary()

history = model.fit(train_ds, validation_data=val_ds, epochs=EPOCHS, verbose=2)

loss, acc = model.evaluate(val_ds, verbose=0)
print(f"validation loss {loss:.4f}  accuracy {acc:.4f}")
pred = model.predict(val_ds, verbose=0).argmax(-1)
for c in range(10):
    m = y_val == c
    print(f"digit {c}: {np.mean(pred[m] == c):.3f}")
