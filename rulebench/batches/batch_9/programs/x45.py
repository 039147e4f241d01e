import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)
# tag prediction: a post can have any number out of 6 tags
n, d, k = 2000, 40, 6
W = rng.normal(0, 1, (d, k))
X = rng.normal(0, 1, (n, d)).astype("float32")
Y = ((X @ W / np.sqrt(d) + rng.normal(0, 0.2, (n, k))) > 0.0).astype("float32")
print("tags per post", Y.sum(1).mean())

model = keras.Sequential([
    layers.Input((d,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(k, activation="softmax"),
])
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["binary_accuracy"])
model.fit(X[:1600], Y[:1600], epochs=20, batch_size=32, validation_data=(X[1600:], Y[1600:]), verbose=2)

p = model.predict(X[1600:], verbose=0) > 0.5
t = Y[1600:] > 0.5
tp = (p & t).sum()
print("micro F1 %.3f  recall %.3f  predicted tags per post %.2f" % (
    2 * tp / (p.sum() + t.sum()), tp / t.sum(), p.sum(1).mean()))
