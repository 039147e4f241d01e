import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# counts of bike rentals per hour: Poisson regression with exp output
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 4000
hour = rng.integers(0, 24, n)
temp = rng.normal(15, 8, n)
rain = (rng.uniform(size=n) < 0.2).astype(float)
rate = np.exp(2.2 + 0.9 * np.sin((hour - 8) / 24 * 2 * np.pi) + 0.03 * (temp - 15) - 0.8 * rain)
y = rng.poisson(rate).astype("float32")
X = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), (temp - 15) / 8, rain], 1).astype("float32")

model = keras.Sequential([
    layers.Input((4,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="exponential", bias_initializer=keras.initializers.Constant(np.log(y[:3200].mean()))),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="poisson")
model.fit(X[:3200], y[:3200], batch_size=64, epochs=20, validation_data=(X[3200:], y[3200:]), verbose=2)
p = model.predict(X[3200:], verbose=0)[:, 0]
print("mean predicted", p.mean(), "mean observed", y[3200:].mean())
print("corr with true rate", np.corrcoef(p, rate[3200:])[0, 1])
