"""Customising what happens in fit(), PyTorch backend, label smoothing + gradient norm metric."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import torch
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 11
keras.utils.set_random_seed(SEED)


class CustomModel(keras.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.norm_tracker = keras.metrics.Mean(name="grad_norm")
        self.acc_metric = keras.metrics.CategoricalAccuracy(name="acc")
        self.loss_fn = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.05)

    @property
    def metrics(self):
        return [self.loss_tracker, self.norm_tracker, self.acc_metric]

    def train_step(self, data):
        x, y = data
        logits = self(x, training=True)
        loss = self.loss_fn(y, logits)
        loss.backward()

        weights = [v for v in self.trainable_weights]
        grads = [v.value.grad for v in weights]
        with torch.no_grad():
            norm = torch.sqrt(sum((g ** 2).sum() for g in grads))
            self.optimizer.apply(grads, weights)
        self.loss_tracker.update_state(loss)
        self.norm_tracker.update_state(norm)
        self.acc_metric.update_state(y, logits)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        x, y = data
        logits = self(x, training=False)
        self.loss_tracker.update_state(self.loss_fn(y, logits))
        self.acc_metric.update_state(y, logits)
        return {"loss": self.loss_tracker.result(), "acc": self.acc_metric.result()}


d = load_digits()
x = d.data.astype("float32") / 16.0
y = keras.utils.to_categorical(d.target, 10)
xa, xb, ya, yb = train_test_split(x, y, test_size=0.3, random_state=SEED)

inputs = keras.Input((64,))
h = layers.Dense(64, activation="relu")(inputs)
h = layers.Dense(64, activation="relu")(h)
outputs = layers.Dense(10)(h)
model = CustomModel(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(3e-3))
model.fit(xa, ya, batch_size=32, epochs=20, validation_data=(xb, yb), verbose=2)
print(model.evaluate(xb, yb, verbose=0, return_dict=True))
