import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

# does the bracket string stay balanced in type? count 1s minus 2s
keras.utils.set_random_seed(108)
rng = np.random.default_rng(108)
MAXLEN = 24
seqs, y = [], []
for _ in range(2400):
    n = rng.integers(5, MAXLEN + 1)
    s = rng.integers(1, 6, n)
    diff = (s == 1).sum() - (s == 2).sum()
    if diff == 0:
        s[0] = 1 + rng.integers(0, 2)
        diff = (s == 1).sum() - (s == 2).sum()
        if diff == 0:
            continue
    seqs.append(s)
    y.append(int(diff > 0))
y = np.array(y)
X = keras.utils.pad_sequences(seqs, maxlen=MAXLEN)
n_train = 1800
model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(6, 8, mask_zero=True),
    layers.GRU(24),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(1e-2, clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])
model.fit(X[:n_train], y[:n_train], epochs=10, batch_size=64, validation_data=(X[n_train:], y[n_train:]), verbose=2)
print("acc", model.evaluate(X[n_train:], y[n_train:], verbose=0)[1])
