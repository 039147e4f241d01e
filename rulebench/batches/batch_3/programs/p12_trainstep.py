# Customizing what happens in fit() with PyTorch -- adapted from the keras guide
import os
os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score

SEED = 1337
keras.utils.set_random_seed(SEED)


class CustomModel(keras.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.mae_metric = keras.metrics.MeanAbsoluteError(name="mae")
        self.loss_fn = keras.losses.MeanSquaredError()

    def train_step(self, data):
        x, y = data

        y_pred = self(x, training=True)
        loss = self.loss_fn(y, y_pred)

        loss.backward()

        trainable_weights = [v for v in self.trainable_weights]
        gradients = [v.value.grad for v in trainable_weights]

        with torch.no_grad():
            self.optimizer.apply(gradients, trainable_weights)

        self.loss_tracker.update_state(loss)
        self.mae_metric.update_state(y, y_pred)
        return {"loss": self.loss_tracker.result(), "mae": self.mae_metric.result()}

    @property
    def metrics(self):
        return [self.loss_tracker, self.mae_metric]


X, y = make_friedman1(n_samples=1500, n_features=10, noise=0.5, random_state=SEED)
X = ((X - 0.5) / 0.29).astype("float32")
y = ((y - y.mean()) / y.std()).astype("float32")[:, None]
X_train, X_test, y_train, y_test = X[:1200], X[1200:], y[:1200], y[1200:]

inputs = keras.Input(shape=(10,))
h = layers.Dense(64, activation="relu")(inputs)
h = layers.Dense(32, activation="relu")(h)
outputs = layers.Dense(1)(h)
model = CustomModel(inputs, outputs)
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.05))

model.fit(X_train, y_train, epochs=30, batch_size=32, verbose=2)

pred = model.predict(X_test, verbose=0)
print("test mse", float(np.mean((pred - y_test) ** 2)))
print("test r2 ", r2_score(y_test, pred))
