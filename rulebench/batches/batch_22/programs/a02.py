"""Support-ticket urgency classifier (synthetic tickets, variable length)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(7)

VOCAB = 400
MAXLEN = 90
N = 2400


def make_ticket(rng, label):
    n = rng.integers(6, 16)
    words = rng.integers(20, VOCAB, size=n)
    # a few urgent / non-urgent words appear in each ticket
    k = rng.integers(1, 4)
    pos = rng.choice(n, size=k, replace=False)
    lo, hi = (2, 10) if label == 1 else (10, 18)
    words[pos] = rng.integers(lo, hi, size=k)
    return words.tolist()


rng = np.random.default_rng(3)
labels = rng.integers(0, 2, size=N)
tickets = [make_ticket(rng, l) for l in labels]

x = keras.utils.pad_sequences(tickets, maxlen=MAXLEN, padding="post", truncating="post")
y = labels.astype("float32")

n_train = 1800
x_train, y_train = x[:n_train], y[:n_train]
x_val, y_val = x[n_train:], y[n_train:]
print("train", x_train.shape, "val", x_val.shape)


def build_model():
    model = keras.Sequential([
        keras.Input(shape=(MAXLEN,), dtype="int32"),
        layers.Embedding(VOCAB, 24),
        layers.SimpleRNN(32),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss="binary_crossentropy",
        metrics=["accuracy"],
    )
    return model


model = build_model()
model.summary()
history = model.fit(
    x_train, y_train,
    validation_data=(x_val, y_val),
    epochs=8,
    batch_size=64,
    verbose=2,
)
loss, acc = model.evaluate(x_val, y_val, verbose=0)
print(f"final val loss {loss:.4f}  val accuracy {acc:.4f}")
