# 3 % positives, class_weight="balanced" style, output bias at the log prior
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)
n = 8000
X = rng.normal(size=(n, 12)).astype("float32")
score = X[:, 0] + X[:, 1] * X[:, 2] - 0.7 * X[:, 3] ** 2 + 0.3 * rng.normal(size=n)
y = (score > np.quantile(score, 0.97)).astype("int32")
tr, va = slice(0, 6000), slice(6000, n)
pos = y[tr].mean()
weights = {0: 0.5 / (1 - pos), 1: 0.5 / pos}
print("positives", y[tr].sum(), "weights", weights)

model = keras.Sequential([
    keras.Input((12,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(1, bias_initializer=keras.initializers.Constant(float(np.log(pos / (1 - pos))))),
])
model.compile(keras.optimizers.Adam(3e-3), keras.losses.BinaryCrossentropy(from_logits=True),
              metrics=[keras.metrics.AUC(from_logits=True, name="auc"),
                       keras.metrics.Recall(thresholds=0.0, name="recall")])
model.fit(X[tr], y[tr], validation_data=(X[va], y[va]), epochs=12, batch_size=128, class_weight=weights, verbose=2)
