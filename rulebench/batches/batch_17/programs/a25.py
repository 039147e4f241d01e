import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import tensorflow as tf
import keras
from keras import layers


class CoolingPINN(keras.Model):
    """Newton's law of cooling  dT/dt = -k (T - T_env), T(0) = T0, on 0..t_max hours.
    The network sees s = t / t_max and gives (T - T_env) / (T0 - T_env)."""

    def __init__(self, k, t_max, width):
        super().__init__()
        self.k, self.t_max = k, t_max
        self.body = keras.Sequential([
            layers.Dense(width, activation="tanh"),
            layers.Dense(width, activation="tanh"),
            layers.Dense(1),
        ])
        self.res_tracker = keras.metrics.Mean(name="residual")
        self.ic_tracker = keras.metrics.Mean(name="initial")

    def call(self, t):
        return self.body(t / self.t_max)

    @property
    def metrics(self):
        return [self.res_tracker, self.ic_tracker]

    def train_step(self, data):
        t, t0 = data[0], tf.zeros((1, 1))
        s = t / self.t_max
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(s)
                u = self.body(s)
            du = inner.gradient(u, s)
            residual = tf.reduce_mean(tf.square(du + self.k * u))
            initial = tf.reduce_mean(tf.square(self(t0) - 1.0))
            loss = residual + 10.0 * initial
        grads = outer.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.res_tracker.update_state(residual)
        self.ic_tracker.update_state(initial)
        return {"residual": self.res_tracker.result(), "initial": self.ic_tracker.result()}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--k", type=float, default=1.2, help="1/hour")
    p.add_argument("--t-max", type=float, default=3.0)
    p.add_argument("--t0", type=float, default=90.0)
    p.add_argument("--env", type=float, default=20.0)
    p.add_argument("--epochs", type=int, default=60)
    a = p.parse_args()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    t = rng.uniform(0, a.t_max, (1024, 1)).astype("float32")

    model = CoolingPINN(a.k, a.t_max, 24)
    model(t[:2])
    model.compile(optimizer=keras.optimizers.Adam(3e-3))
    hist = model.fit(t, t, batch_size=64, epochs=a.epochs, verbose=0)
    for e in range(0, a.epochs, 10):
        print(f"epoch {e:3d} residual {hist.history['residual'][e]:.6f} initial {hist.history['initial'][e]:.6f}")
    print(f"last residual {hist.history['residual'][-1]:.7f} initial {hist.history['initial'][-1]:.7f}")

    grid = np.linspace(0, a.t_max, 6, dtype="float32")[:, None]
    temp = a.env + (a.t0 - a.env) * model.predict(grid, verbose=0).ravel()
    measured = a.env + (a.t0 - a.env) * np.exp(-a.k * grid.ravel())
    for m, v, w in zip(grid.ravel(), temp, measured):
        print(f"hour {m:4.1f}  network {v:6.2f}  thermometer {w:6.2f}")
    print(f"largest difference {np.abs(temp - measured).max():.2f} degrees")


if __name__ == "__main__":
    main()
