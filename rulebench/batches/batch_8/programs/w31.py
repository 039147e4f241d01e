import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# book ratings with user and item biases
rng = np.random.default_rng(120)
U, M = 150, 100
bu, bm = rng.normal(0, 0.6, U), rng.normal(0, 0.6, M)
fu, fm = rng.normal(0, 0.5, (U, 3)), rng.normal(0, 0.5, (M, 3))
u, m = rng.integers(0, U, 12000), rng.integers(0, M, 12000)
r = np.clip(3.3 + bu[u] + bm[m] + (fu[u] * fm[m]).sum(1) + rng.normal(0, 0.3, 12000), 1, 5).astype("float32")
mean = r[:10000].mean()
reg = keras.regularizers.l2(1e-5)
keras.utils.set_random_seed(120)
iu, im = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
eu, em = layers.Embedding(U, 6, embeddings_regularizer=reg)(iu), layers.Embedding(M, 6, embeddings_regularizer=reg)(im)
dot = layers.Dot(axes=-1)([eu, em])
b1, b2 = layers.Embedding(U, 1)(iu), layers.Embedding(M, 1)(im)
out = layers.Rescaling(1.0, offset=float(mean))(layers.Add()([dot, b1, b2]))
model = keras.Model([iu, im], out)
model.compile(keras.optimizers.Adam(5e-3), "mse", metrics=[keras.metrics.RootMeanSquaredError(name="rmse")])
tr, te = slice(0, 10000), slice(10000, None)
model.fit([u[tr], m[tr]], r[tr], batch_size=100, epochs=8,
          validation_data=([u[te], m[te]], r[te]), verbose=2)
print("std of test ratings", r[te].std())
