"""Heteroscedastic Gaussian regression with a stateless custom train_step on JAX."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import jax
import numpy as np
import keras
from keras import layers, ops


class GaussianMLP(keras.Model):
    def __init__(self, width=64, **kw):
        super().__init__(**kw)
        self.h1, self.h2 = layers.Dense(width, activation="swish"), layers.Dense(width, activation="swish")
        self.mu, self.log_sigma = layers.Dense(1), layers.Dense(1, kernel_initializer="zeros")
        self.nll = keras.metrics.Mean(name="nll")

    def call(self, x, training=False):
        h = self.h2(self.h1(x))
        return ops.concatenate([self.mu(h), ops.clip(self.log_sigma(h), -5.0, 3.0)], axis=-1)

    @property
    def metrics(self):
        return [self.nll]

    def _nll(self, y, out):
        mu, ls = out[:, 0], out[:, 1]
        return ops.mean(ls + 0.5 * ops.square((y - mu) * ops.exp(-ls)))

    def _loss_and_updates(self, tv, ntv, x, y):
        out, ntv = self.stateless_call(tv, ntv, x, training=True)
        return self._nll(y, out), ntv

    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        (loss, ntv), grads = jax.value_and_grad(self._loss_and_updates, has_aux=True)(tv, ntv, x, y)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        mv = self.nll.stateless_update_state(mv, loss)
        return {"nll": self.nll.stateless_result(mv)}, (tv, ntv, ov, mv)

    def test_step(self, state, data):
        tv, ntv, mv = state
        x, y = data
        out, ntv = self.stateless_call(tv, ntv, x, training=False)
        mv = self.nll.stateless_update_state(mv, self._nll(y, out))
        return {"nll": self.nll.stateless_result(mv)}, (tv, ntv, mv)


def make(n, seed):
    r = np.random.default_rng(seed)
    x = r.uniform(-3, 3, (n, 1)).astype("float32")
    sigma = 0.02 + 0.08 * np.abs(np.sin(x[:, 0]))
    return x, (np.sin(2 * x[:, 0]) * 0.5 + sigma * r.normal(size=n)).astype("float32"), sigma


def main():
    keras.utils.set_random_seed(0)
    xtr, ytr, _ = make(4000, 0)
    xte, yte, sig = make(1000, 1)
    model = GaussianMLP()
    model(xtr[:2])
    steps = 25 * (len(xtr) // 64 + 1)
    model.compile(optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(4e-3, steps), clipnorm=1.0))
    model.fit(xtr, ytr, epochs=25, batch_size=64, validation_data=(xte, yte), verbose=2)
    out = model.predict(xte, verbose=0)
    z = (yte - out[:, 0]) / np.exp(out[:, 1])
    print(f"rmse {np.sqrt(np.mean((yte - out[:, 0]) ** 2)):.4f} std of z {z.std():.3f} corr(sigma) {np.corrcoef(np.exp(out[:, 1]), sig)[0, 1]:.3f}")


if __name__ == "__main__":
    main()
