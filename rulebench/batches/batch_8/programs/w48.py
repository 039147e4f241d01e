import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

data = load_diabetes()
Xtr, Xte, ytr, yte = train_test_split(data.data.astype("float32"), data.target.astype("float32"),
                                      test_size=0.25, random_state=0)
mu, sd = ytr.mean(), ytr.std()

keras.utils.set_random_seed(10)
norm = layers.Normalization()
norm.adapt(Xtr)
model = keras.Sequential([keras.Input((10,)), norm,
                          layers.Dense(32, activation="relu", kernel_regularizer=keras.regularizers.l2(1e-3)),
                          layers.Dropout(0.2),
                          layers.Dense(1)])
model.compile(keras.optimizers.Adam(3e-3), "mse", metrics=["mae"])
es = keras.callbacks.EarlyStopping(monitor="val_loss", patience=12, restore_best_weights=True)
model.fit(Xtr, (ytr - mu) / sd, validation_split=0.2, epochs=80, batch_size=16, callbacks=[es], verbose=2)
pred = model.predict(Xte, verbose=0)[:, 0] * sd + mu
print("R2", 1 - ((pred - yte) ** 2).sum() / ((yte - yte.mean()) ** 2).sum())
