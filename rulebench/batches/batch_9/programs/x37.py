import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(115)
rng = np.random.default_rng(115)
# movie ratings from user and item ids
nu, ni, k = 80, 60, 4
U, V = rng.normal(0, 0.7, (nu, k)), rng.normal(0, 0.7, (ni, k))
u, i = rng.integers(0, nu, 4000), rng.integers(0, ni, 4000)
r = np.clip(3 + (U[u] * V[i]).sum(1) + rng.normal(0, 0.2, 4000), 0.5, 5).astype("float32")
r01 = (r - 0.5) / 4.5

iu, ii = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
eu = layers.Flatten()(layers.Embedding(nu, 8, embeddings_regularizer=keras.regularizers.l2(1e-6))(iu))
ei = layers.Flatten()(layers.Embedding(ni, 8, embeddings_regularizer=keras.regularizers.l2(1e-6))(ii))
bu = layers.Flatten()(layers.Embedding(nu, 1)(iu))
bi = layers.Flatten()(layers.Embedding(ni, 1)(ii))
score = layers.Add()([layers.Dot(axes=1)([eu, ei]), bu, bi])
out = layers.Activation("sigmoid")(score)
model = keras.Model([iu, ii], out)
model.compile(keras.optimizers.Adam(0.01), "mse")
n = 3400
model.fit([u[:n, None], i[:n, None]], r01[:n], batch_size=64, epochs=15,
          validation_data=([u[n:, None], i[n:, None]], r01[n:]), verbose=2)
p = model.predict([u[n:, None], i[n:, None]], verbose=0)[:, 0] * 4.5 + 0.5
print("test RMSE %.3f stars, always the mean %.3f" % (np.sqrt(np.mean((p - r[n:]) ** 2)), np.std(r[n:])))
