import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split
from sklearn.metrics import r2_score

seed = 26
keras.utils.set_random_seed(seed)
X, y = make_friedman1(3000, n_features=10, noise=0.5, random_state=seed)
Xtr, Xte, ytr, yte = train_test_split(X, y, random_state=seed)
xs, ys = StandardScaler().fit(Xtr), StandardScaler().fit(ytr[:, None])
model = keras.Sequential([keras.Input((10,)), layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu"), layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(xs.transform(Xtr), ys.transform(ytr[:, None]), epochs=40, batch_size=32, validation_split=.1, verbose=2,
          callbacks=[keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)])
pred = ys.inverse_transform(model.predict(xs.transform(Xte), verbose=0))[:, 0]
print("test R2 %.4f" % r2_score(yte, pred))
