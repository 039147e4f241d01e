"""Transfer learning: a backbone trained on digit recognition is reused for another label with few examples.

Stage 1  ten-class digits, 1300 images
Stage 2  "can the digit be drawn with one closed loop or more?"  only 80 labelled images, backbone frozen
"""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

SEED = 20
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
loop = np.isin(y, [0, 4, 6, 8, 9]).astype("float32")
order = rng.permutation(len(x))
pre, few, test = order[:1300], order[1300:1380], order[1380:]


def build_backbone():
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(16, activation="tanh"),
    ], name="backbone")


backbone = build_backbone()
stage1 = keras.Sequential([backbone, layers.Dense(10, activation="softmax")])
stage1.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
h = stage1.fit(x[pre], y[pre], epochs=12, batch_size=32, validation_split=0.1, verbose=0)
print("stage 1 validation accuracy", round(h.history["val_accuracy"][-1], 4))

# a copy, so that the head of the new task does not touch the model above
features = keras.models.clone_model(backbone)
features.trainable = False

stage2 = keras.Sequential([features, layers.Dense(1, activation="sigmoid")])
stage2.compile(keras.optimizers.Adam(1e-2), "binary_crossentropy", metrics=["accuracy"])
h = stage2.fit(x[few], loop[few], epochs=60, batch_size=16, verbose=0)
for e in range(0, 60, 10):
    print(f"stage 2 epoch {e:2d} loss {h.history['loss'][e]:.4f} acc {h.history['accuracy'][e]:.3f}")

loss, acc = stage2.evaluate(x[test], loop[test], verbose=0)
print(f"stage 2 test loss {loss:.4f}  test accuracy {acc:.4f}")
