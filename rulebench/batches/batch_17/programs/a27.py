import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.metrics import ndcg_score

# listwise ranking: softmax over the candidates of one query, graded labels normalised to a distribution
keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)
Q, D, F = 1500, 20, 8
X = rng.normal(size=(Q, D, F)).astype("float32")
true = X[..., 0] - 0.7 * X[..., 1] ** 2 + X[..., 2] * X[..., 3] + 0.3 * rng.normal(size=(Q, D))
rank = true.argsort(1).argsort(1)
rel = np.digitize(rank, [12, 16, 18, 19]).astype("float32")


def listwise(y, s):
    p = (ops.power(2.0, y) - 1) / ops.sum(ops.power(2.0, y) - 1, axis=-1, keepdims=True)
    return -ops.sum(p * ops.log_softmax(s, axis=-1), axis=-1)


inp = keras.Input((D, F))
h = layers.Dense(64, activation="relu")(inp)
h = layers.Dense(32, activation="relu")(h)
score = layers.Reshape((D,))(layers.Dense(1, use_bias=False)(h))
model = keras.Model(inp, score)
model.compile(keras.optimizers.Adam(2e-3), loss=listwise)
model.fit(X[:1200], rel[:1200], batch_size=32, epochs=25, validation_data=(X[1200:], rel[1200:]), verbose=2)

s = model.predict(X[1200:], verbose=0)
print("ndcg@5 model", ndcg_score(rel[1200:], s, k=5))
print("ndcg@5 random", ndcg_score(rel[1200:], rng.normal(size=s.shape), k=5))
