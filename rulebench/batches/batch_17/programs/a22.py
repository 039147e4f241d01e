import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.model_selection import train_test_split

# flat prices: predict log price, linear baseline plus a zero started correction, huber loss
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
n = 3000
area = rng.lognormal(4.2, 0.35, n)
rooms = np.clip(np.round(area / 25 + rng.normal(0, 0.7, n)), 1, 8)
dist = rng.exponential(5, n)
year = rng.integers(1900, 2023, n)
price = area * 4500 * np.exp(-0.06 * dist + 0.15 * np.cos((year - 1900) / 25)) * np.exp(0.12 * rng.normal(size=n))
price[rng.integers(0, n, 30)] *= 10  # typing errors in the listings

X = np.stack([np.log(area), rooms, dist, year], 1)
y = np.log(price)[:, None]
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=0)
mx, sx, my, sy = X_tr.mean(0), X_tr.std(0), y_tr.mean(), y_tr.std()
X_tr, X_te = (X_tr - mx) / sx, (X_te - mx) / sx

inp = keras.Input((4,))
base = layers.Dense(1)(inp)
h = layers.Dense(64, activation="swish")(inp)
h = layers.Dense(64, activation="swish")(h)
corr = layers.Dense(1, kernel_initializer="zeros", use_bias=False)(h)
model = keras.Model(inp, layers.Add()([base, corr]))
model.compile(keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(5e-3, 400, 0.7), clipnorm=1.0),
              loss=keras.losses.Huber(0.3))
model.fit(X_tr, (y_tr - my) / sy, epochs=40, batch_size=64, verbose=2,
          validation_data=(X_te, (y_te - my) / sy))

pred = np.exp(model.predict(X_te, verbose=0) * sy + my)
true = np.exp(y_te)
print("median error %.1f %%" % (100 * np.median(np.abs(pred / true - 1))))
print("error of the median price %.1f %%" % (100 * np.median(np.abs(np.median(true) / true - 1))))
