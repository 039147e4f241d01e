"""Text classifier on frozen 'GloVe' vectors, masking, GRU."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(15)
rng = np.random.default_rng(15)
V, D, MAXLEN = 800, 20, 18
# pretend-GloVe: four topics, words scattered around their topic vector, row 0 = padding
topic_vec = rng.normal(size=(4, D))
topic = rng.integers(0, 4, V)
table = topic_vec[topic] + 0.8 * rng.normal(size=(V, D))
table[0] = 0.0


def doc(k):
    n = rng.integers(4, MAXLEN + 1)
    own = np.flatnonzero(topic == k)
    w = np.where(rng.random(n) < 0.45, rng.choice(own, n), rng.integers(1, V, n))
    w[w == 0] = 1
    return np.pad(w, (0, MAXLEN - n))


y = rng.integers(0, 4, 1600)
X = np.stack([doc(k) for k in y]).astype("int32")

model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(V, D, weights=[table], trainable=False, mask_zero=True),
    layers.GRU(24, recurrent_dropout=0.1),
    layers.Dense(4, activation="softmax"),
])
model.summary(print_fn=lambda s, **k: None)
print("trainable", sum(int(np.prod(w.shape)) for w in model.trainable_weights),
      "frozen", sum(int(np.prod(w.shape)) for w in model.non_trainable_weights))
model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X[:1300], y[:1300], validation_data=(X[1300:], y[1300:]), epochs=8, batch_size=32, verbose=2)
