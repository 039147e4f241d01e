import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# Intent of short chat messages (ids of words, already tokenised).
# "book X then cancel Y" is not "cancel X then book Y": the order matters.
SEED = 6
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
VOCAB, MAXLEN = 60, 80
BOOK, CANCEL, MOVE = 1, 2, 3


def message():
    n = rng.integers(5, 13)
    msg = rng.integers(4, VOCAB, size=n)
    where = np.sort(rng.choice(n, size=2, replace=False))
    verbs = rng.choice([BOOK, CANCEL, MOVE], size=2, replace=False)
    msg[where] = verbs
    return list(msg), int(verbs[1] - 1)      # what the customer wants in the end


def dataset(n):
    rows = [message() for _ in range(n)]
    x = keras.utils.pad_sequences([r[0] for r in rows], maxlen=MAXLEN, padding="post")
    return x.astype("int32"), np.array([r[1] for r in rows])


x_train, y_train = dataset(3000)
x_test, y_test = dataset(600)

model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(VOCAB, 16),
    layers.LSTM(24),
    layers.Dense(3, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(4e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
for rnd in range(4):
    h = model.fit(x_train, y_train, batch_size=64, epochs=3, verbose=0, validation_split=0.1)
    print(f"round {rnd + 1}: loss {h.history['loss'][-1]:.4f} acc {h.history['accuracy'][-1]:.4f} "
          f"val_acc {h.history['val_accuracy'][-1]:.4f}")
print("test accuracy", round(float(model.evaluate(x_test, y_test, verbose=0)[1]), 4))
