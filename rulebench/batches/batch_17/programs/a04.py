import os
os.environ["KERAS_BACKEND"] = "torch"
import math
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# large learning rate with one-cycle schedule, plain SGD with batch norm
keras.utils.set_random_seed(4)
X, y = load_breast_cancer(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=4, stratify=y)
sc = StandardScaler().fit(X_tr)
X_tr, X_te = sc.transform(X_tr), sc.transform(X_te)

EPOCHS, BATCH, PEAK = 20, 32, 0.5
steps = EPOCHS * math.ceil(len(X_tr) / BATCH)


class OneCycle(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.n = 0

    def on_train_batch_begin(self, batch, logs=None):
        f = self.n / steps
        lr = PEAK * f / 0.3 if f < 0.3 else PEAK * 0.5 * (1 + math.cos(math.pi * (f - 0.3) / 0.7))
        self.model.optimizer.learning_rate = lr + 1e-5
        self.n += 1


model = keras.Sequential([
    keras.Input((30,)),
    layers.Dense(32, use_bias=False),
    layers.BatchNormalization(),
    layers.Activation("relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.SGD(0.01), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X_tr, y_tr, epochs=EPOCHS, batch_size=BATCH, validation_data=(X_te, y_te),
          callbacks=[OneCycle()], verbose=2)
print("test:", model.evaluate(X_te, y_te, verbose=0))
