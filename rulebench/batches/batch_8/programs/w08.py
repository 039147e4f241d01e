import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# short reviews as word ids, sentiment depends on the words
keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
pos, neg = np.arange(1, 16), np.arange(16, 31)
texts, labels = [], []
for _ in range(1600):
    n = rng.integers(4, 14)
    lab = int(rng.integers(0, 2))
    words = rng.integers(31, 100, n)
    k = rng.integers(1, 4)
    words[rng.choice(n, k, replace=False)] = rng.choice(pos if lab else neg, k)
    texts.append(words.tolist())
    labels.append(lab)
X = keras.utils.pad_sequences(texts, maxlen=120, padding="post")
y = np.array(labels)

model = keras.Sequential([
    layers.Input((120,), dtype="int32"),
    layers.Embedding(100, 16),
    layers.LSTM(16),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(X[:1300], y[:1300], epochs=8, batch_size=32,
          validation_data=(X[1300:], y[1300:]), verbose=2)
