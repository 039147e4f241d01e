import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import jax
import numpy as np
import keras
from keras import layers, ops


class CustomFit(keras.Model):
    """custom jax train step with sample mixing (mixup) and stateless state handling"""

    def loss_with_aux(self, tv, ntv, x, y, training=False):
        y_pred, ntv = self.stateless_call(tv, ntv, x, training=training)
        loss = self.compute_loss(x, y, y_pred)
        return loss, (y_pred, ntv)

    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        lam = 0.85
        x = lam * x + (1 - lam) * ops.roll(x, 1, axis=0)
        y_mix = lam * y + (1 - lam) * ops.roll(y, 1, axis=0)
        grad_fn = jax.value_and_grad(self.loss_with_aux, has_aux=True)
        (loss, (y_pred, ntv)), grads = grad_fn(tv, ntv, x, y_mix, training=True)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        new_mv, logs = [], {}
        for metric in self.metrics:
            this = mv[len(new_mv):len(new_mv) + len(metric.variables)]
            if metric.name == "loss":
                this = metric.stateless_update_state(this, loss)
            else:
                this = metric.stateless_update_state(this, y, y_pred)
            logs[metric.name] = metric.stateless_result(this)
            new_mv += this
        return logs, (tv, ntv, ov, new_mv)


def chirps(n, rng, T=64):
    t = np.linspace(0, 1, T)
    k = rng.integers(0, 3, n)
    f0 = rng.uniform(4, 8, (n, 1))
    slope = np.array([-3.0, 0.0, 5.0])[k][:, None]
    x = np.sin(2 * np.pi * (f0 * t + slope * t ** 2)) + 0.3 * rng.normal(size=(n, T))
    return x[..., None].astype("float32"), np.eye(3, dtype="float32")[k]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x, y = chirps(1500, rng)
    xv, yv = chirps(400, rng)
    i = layers.Input((64, 1))
    h = layers.Conv1D(16, 9, strides=2, use_bias=False)(i)
    h = layers.BatchNormalization(momentum=0.9)(h)
    h = layers.ReLU()(h)
    h = layers.Conv1D(24, 5, strides=2, activation="relu")(h)
    h = layers.Flatten()(h)
    o = layers.Dense(3, activation="softmax")(h)
    m = CustomFit(i, o)
    m.compile(optimizer=keras.optimizers.Adam(2e-3), loss="categorical_crossentropy", metrics=["accuracy"])
    m.fit(x, y, batch_size=50, epochs=args.epochs, validation_data=(xv, yv), verbose=2)
    print("val", m.evaluate(xv, yv, verbose=0))


if __name__ == "__main__":
    main()
