"""Transfer learning guide, shortened: pretrain on one half of the classes,
freeze the base (BatchNorm in inference mode), train a new head on few images,
then fine-tune everything with a low learning rate."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 123
keras.utils.set_random_seed(SEED)

digits = load_digits()
X = digits.images.astype("float32")[..., None] / 16.0
y = digits.target


def build_base():
    i = keras.Input((8, 8, 1))
    x = layers.Conv2D(24, 3, padding="same")(i)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(48, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Flatten()(x)
    return keras.Model(i, x, name="base")


# ---- pretraining: digits 0..5
base = build_base()
pre = keras.Sequential([base, layers.Dense(6, activation="softmax")])
m = y < 6
pre.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
pre.fit(X[m], y[m], epochs=8, batch_size=32, verbose=2)

# ---- new task: digits 6..9, 160 training images
Xn, yn = X[~m], y[~m] - 6
Xtr, Xte, ytr, yte = train_test_split(Xn, yn, train_size=160, stratify=yn, random_state=SEED)

base.trainable = False
inp = keras.Input((8, 8, 1))
feat = base(inp, training=False)
feat = layers.Dropout(0.3)(feat)
out = layers.Dense(4)(feat)
model = keras.Model(inp, out)
model.summary()

loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(1e-3), loss=loss, metrics=["accuracy"])
model.fit(Xtr, ytr, epochs=20, batch_size=32, validation_data=(Xte, yte), verbose=2)
print("after head training:", model.evaluate(Xte, yte, verbose=0)[1])

base.trainable = True
model.compile(keras.optimizers.Adam(1e-5), loss=loss, metrics=["accuracy"])
model.fit(Xtr, ytr, epochs=8, batch_size=32, validation_data=(Xte, yte), verbose=2)
print("after fine-tuning:", model.evaluate(Xte, yte, verbose=0)[1])
