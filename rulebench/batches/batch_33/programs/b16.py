import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(7)
X, y = make_friedman1(n_samples=4000, n_features=10, noise=1.0, random_state=7)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=7)

xs = StandardScaler().fit(X_train)
ys = StandardScaler().fit(y_train[:, None])
Xtr, Xte = xs.transform(X_train).astype("float32"), xs.transform(X_test).astype("float32")
ytr = ys.transform(y_train[:, None]).astype("float32")

model = keras.Sequential([
    keras.Input((10,)),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse")
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=8, restore_best_weights=True)
hist = model.fit(Xtr, ytr, validation_split=0.2, batch_size=64, epochs=40, callbacks=[stop], verbose=0)
for i in range(0, len(hist.history["loss"]), 5):
    print(i + 1, "loss %.4f val %.4f" % (hist.history["loss"][i], hist.history["val_loss"][i]))

pred = ys.inverse_transform(model.predict(Xte, verbose=0))[:, 0]
print("test R2 %.4f, RMSE %.3f (noise 1.0)" % (r2_score(y_test, pred), np.sqrt(np.mean((pred - y_test) ** 2))))
