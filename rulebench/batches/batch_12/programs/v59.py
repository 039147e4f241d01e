import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.preprocessing import QuantileTransformer

# three quantiles at once with the pinball loss
keras.utils.set_random_seed(3)
X, y = make_friedman1(3000, n_features=8, noise=2.0, random_state=0)
qt = QuantileTransformer(n_quantiles=200, output_distribution="normal").fit(X[:2400])
X = qt.transform(X).astype("float32")
m, s = y[:2400].mean(), y[:2400].std()
z = ((y - m) / s).astype("float32")[:, None]
QS = np.array([0.1, 0.5, 0.9], "float32")


def pinball(y_true, y_pred):
    e = y_true - y_pred
    return keras.ops.mean(keras.ops.maximum(QS * e, (QS - 1) * e), axis=-1)


model = keras.Sequential([layers.Input((8,)), layers.Dense(48, activation="elu"), layers.Dense(48, activation="elu"), layers.Dense(3)])
model.compile(keras.optimizers.Adam(2e-3), loss=pinball)
model.fit(X[:2400], z[:2400], epochs=25, batch_size=64, validation_data=(X[2400:], z[2400:]), verbose=2)
p = model.predict(X[2400:], verbose=0)
print("coverage", (z[2400:] < p).mean(0))
print("median mae", np.abs(p[:, 1] - z[2400:, 0]).mean(), "baseline", np.abs(z[2400:]).mean())
