import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

# short "reviews": the sentence is positive when it has more good words than bad ones
GOOD, BAD = list(range(1, 16)), list(range(16, 31))
NEUTRAL = list(range(31, 200))
MAXLEN = 120


def sentence():
    n = rng.integers(5, 13)
    k = 2 * rng.integers(1, 3) - 1
    words = list(rng.choice(NEUTRAL, n - k))
    label = rng.integers(0, 2)
    pos = (k + 1) // 2
    main, other = (GOOD, BAD) if label else (BAD, GOOD)
    words += list(rng.choice(main, pos)) + list(rng.choice(other, k - pos))
    rng.shuffle(words)
    return words, label


data = [sentence() for _ in range(2400)]
seqs = [d[0] for d in data]
y = np.array([d[1] for d in data])
X = keras.utils.pad_sequences(seqs, maxlen=MAXLEN, padding="post")

model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(200, 16),
    layers.LSTM(24),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="binary_crossentropy", metrics=["accuracy"])
hist = model.fit(X[:2000], y[:2000], epochs=8, batch_size=64,
                 validation_data=(X[2000:], y[2000:]), verbose=2)
print("val accuracy per epoch", [round(v, 3) for v in hist.history["val_accuracy"]])
