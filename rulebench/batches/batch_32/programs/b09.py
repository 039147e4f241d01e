import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# Transfer learning in two phases, like the guide:
#  (0) pretrain a small convnet on the digits 0-4
#  (1) new head for the digits 5-9, backbone frozen
#  (2) unfreeze the backbone and fine-tune everything
keras.utils.set_random_seed(0)
d = load_digits()
X = (d.images / 16.0).astype("float32")[..., None]
y = d.target
src, dst = y < 5, y >= 5

backbone = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(8, 3, activation="relu"),
    layers.Flatten(),
], name="backbone")

pre = keras.Sequential([backbone, layers.Dense(5, activation="softmax")])
pre.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
pre.fit(X[src], y[src], epochs=8, batch_size=32, verbose=0)
print("pretrained, acc on source digits:", pre.evaluate(X[src], y[src], verbose=0)[1])

x_tr, x_te, y_tr, y_te = train_test_split(X[dst], y[dst] - 5, test_size=0.4,
                                          random_state=1, stratify=y[dst])

backbone.trainable = False
model = keras.Sequential([layers.Input((8, 8, 1)), backbone, layers.Dense(5, activation="softmax")])
model.compile(optimizer=keras.optimizers.Adam(3e-3),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
print("--- phase 1: head only")
model.fit(x_tr, y_tr, epochs=12, batch_size=32, verbose=2, validation_data=(x_te, y_te))

print("--- phase 2: fine-tuning")
backbone.trainable = True
model.optimizer.learning_rate = 2e-3
model.summary()
model.fit(x_tr, y_tr, epochs=25, batch_size=32, verbose=2, validation_data=(x_te, y_te))

loss, acc = model.evaluate(x_te, y_te, verbose=0)
print(f"final test loss {loss:.4f} accuracy {acc:.4f}")
