"""Custom train_step with the torch backend: mixup inside the model class."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch
from sklearn.datasets import load_digits

keras.utils.set_random_seed(18)


class MixupModel(keras.Model):
    def train_step(self, data):
        x, y = data
        lam = float(np.random.beta(0.3, 0.3))
        p = torch.randperm(x.shape[0])
        x = lam * x + (1 - lam) * x[p]
        y = lam * y + (1 - lam) * y[p]
        self.zero_grad()
        y_pred = self(x, training=True)
        loss = self.compute_loss(y=y, y_pred=y_pred)
        loss.backward()
        grads = [v.value.grad for v in self.trainable_weights]
        with torch.no_grad():
            self.optimizer.apply(grads, self.trainable_weights)
        for m in self.metrics:
            if m.name == "loss":
                m.update_state(loss)
            else:
                m.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


X, y = load_digits(return_X_y=True)
X = (X / 8 - 1).astype("float32").reshape(-1, 8, 8, 1)
Y = np.eye(10, dtype="float32")[y]
i = keras.Input((8, 8, 1))
h = keras.layers.Conv2D(16, 3, padding="same")(i)
h = keras.layers.BatchNormalization(momentum=0.9)(h)
h = keras.layers.ReLU()(h)
h = keras.layers.MaxPooling2D()(h)
h = keras.layers.Conv2D(24, 3, activation="relu")(h)
h = keras.layers.Flatten()(h)
o = keras.layers.Dense(10)(h)
model = MixupModel(i, o)
model.compile(keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
              keras.losses.CategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(X[:1440], Y[:1440], validation_data=(X[1440:], Y[1440:]), epochs=10, batch_size=32, verbose=2)
