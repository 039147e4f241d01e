import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# movie posts -> genre tags, every post can carry several of the 8 tags
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
N, V, T = 4000, 300, 8
tag_words = rng.integers(0, V, (T, 12))
Y = (rng.random((N, T)) < 0.35).astype("float32")
X = (rng.random((N, V)) < 0.03).astype("float32")
for t in range(T):
    rows = np.where(Y[:, t] == 1)[0]
    for w in tag_words[t]:
        X[rows[rng.random(len(rows)) < 0.4], w] = 1.0

inp = keras.Input((V,))
h = layers.Dense(64, activation="relu")(inp)
h = layers.Dropout(0.3)(h)
out = layers.Dense(T, activation="softmax")(h)
model = keras.Model(inp, out)
model.compile(optimizer="adam", loss="categorical_crossentropy",
              metrics=[keras.metrics.BinaryAccuracy(threshold=0.5)])
model.fit(X[:3200], Y[:3200], batch_size=64, epochs=12, verbose=2,
          validation_data=(X[3200:], Y[3200:]))

p = model.predict(X[3200:], verbose=0) > 0.5
true = Y[3200:] > 0.5
tp = (p & true).sum()
print("micro recall", tp / true.sum(), "micro precision", tp / max(p.sum(), 1))
print("tags per post predicted / true:", p.sum(1).mean(), true.sum(1).mean())
