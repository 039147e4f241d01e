import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# product comments of different lengths
keras.utils.set_random_seed(70)
rng = np.random.default_rng(70)
good, bad = np.arange(2, 12), np.arange(12, 22)
seqs, lab = [], []
for _ in range(1500):
    m = rng.integers(3, 20)
    w = rng.integers(22, 80, m)
    l = int(rng.integers(0, 2))
    k = min(m, rng.integers(1, 4))
    w[:k] = rng.choice(good if l else bad, k)
    rng.shuffle(w)
    seqs.append(w.tolist())
    lab.append(l)
X = keras.utils.pad_sequences(seqs, maxlen=40, padding="post", value=0)
y = np.array(lab)

inp = keras.Input((40,), dtype="int32")
h = layers.Embedding(80, 16, mask_zero=True)(inp)
h = layers.SpatialDropout1D(0.2)(h)
h = layers.Bidirectional(layers.GRU(12))(h)
out = layers.Dense(1)(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(2e-3), keras.losses.BinaryCrossentropy(from_logits=True),
              metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)])
model.fit(X[:1200], y[:1200], batch_size=32, epochs=8, validation_data=(X[1200:], y[1200:]), verbose=2)
