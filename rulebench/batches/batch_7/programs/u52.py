import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import f1_score

keras.utils.set_random_seed(80)
rng = np.random.default_rng(80)
n, labels = 2500, 5
W = rng.normal(0, 1, (25, labels))
X = rng.normal(0, 1, (n, 25)).astype("float32")
Y = (X @ W + 0.5 * (X[:, :1] * X[:, 1:2]) + rng.normal(0, 0.5, (n, labels)) > 1.0).astype("float32")
print("label frequency", Y.mean(0))
xt, yt, xv, yv = X[:2000], Y[:2000], X[2000:], Y[2000:]

model = keras.Sequential([
    keras.Input((25,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(labels, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.RMSprop(1e-3), loss="binary_crossentropy",
              metrics=[keras.metrics.BinaryAccuracy(), keras.metrics.AUC(multi_label=True, name="auc")])
model.fit(xt, yt, epochs=15, batch_size=32, validation_data=(xv, yv), verbose=2)
print("macro F1:", f1_score(yv, model.predict(xv, verbose=0) > 0.5, average="macro"))
