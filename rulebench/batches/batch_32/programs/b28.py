import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras

# Echo state network in Keras: the recurrent part is a fixed random reservoir with spectral
# radius < 1, only the linear readout gets gradients. Task: Mackey-Glass, 6 steps ahead.
SEED = 0
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

series = list(1.2 + 0.1 * rng.normal(size=18))
for _ in range(3500):
    series.append(series[-1] + 0.2 * series[-18] / (1 + series[-18] ** 10) - 0.1 * series[-1])
s = np.tanh(np.array(series[500:]) - 1.0)
WIN, AHEAD = 40, 6
X = np.stack([s[i:i + WIN] for i in range(len(s) - WIN - AHEAD)])[..., None].astype("float32")
y = np.array([s[i + WIN + AHEAD - 1] for i in range(len(s) - WIN - AHEAD)], dtype="float32")
cut = 2200
X_tr, y_tr, X_te, y_te = X[:cut], y[:cut], X[cut + WIN:], y[cut + WIN:]

UNITS = 200
inp = keras.Input((WIN, 1))
res = keras.layers.SimpleRNN(UNITS, activation="tanh", name="reservoir")
out = keras.layers.Dense(1, name="readout")
model = keras.Model(inp, out(res(inp)))

w = rng.normal(size=(UNITS, UNITS)) * (rng.random((UNITS, UNITS)) < 0.1)
w *= 0.9 / np.abs(np.linalg.eigvals(w)).max()
res.set_weights([rng.uniform(-1, 1, (1, UNITS)), w, rng.uniform(-0.2, 0.2, UNITS)])
res.trainable = False
print("trainable:", sum(int(np.prod(v.shape)) for v in model.trainable_weights),
      "of", model.count_params())

model.compile(keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.01, 200, 0.85)),
              loss="mse")
model.fit(X_tr, y_tr, batch_size=32, epochs=30, verbose=2)
pred = model.predict(X_te, verbose=0).ravel()
nrmse = np.sqrt(np.mean((pred - y_te) ** 2)) / y_te.std()
naive = np.sqrt(np.mean((X_te[:, -1, 0] - y_te) ** 2)) / y_te.std()
print("NRMSE %.4f  (persistence %.4f)" % (nrmse, naive))
