import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(16)
X = (load_digits().data / 16).astype("float32")
np.random.shuffle(X)
train, test = X[:1500], X[1500:]

inp = layers.Input((64,))
code = layers.Dense(32, activation="relu", activity_regularizer=keras.regularizers.L1(2e-4), name="code")(inp)
out = layers.Dense(64, activation="sigmoid")(code)
ae = keras.Model(inp, out)
encoder = keras.Model(inp, code)
# pixels are grey values in [0,1]; cross-entropy on soft targets has a floor well above zero
ae.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy")
h = ae.fit(train, train, validation_data=(test, test), epochs=40, batch_size=50, verbose=0)
for e in range(0, 40, 5):
    print(f"epoch {e} loss {h.history['loss'][e]:.4f} val {h.history['val_loss'][e]:.4f}")
z = encoder.predict(test, verbose=0)
rec = ae.predict(test, verbose=0)
eps = 1e-6
floor = -(test * np.log(test + eps) + (1 - test) * np.log(1 - test + eps)).mean()
print("entropy floor %.4f, test mse %.5f (mean image %.5f), active units per sample %.1f of 32"
      % (floor, ((rec - test) ** 2).mean(), ((test - train.mean(0)) ** 2).mean(), (z > 1e-3).sum(1).mean()))
