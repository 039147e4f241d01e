import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops


class VariationalLayer(layers.Layer):
    """Draws the code and adds beta * KL; beta is raised during training."""

    def __init__(self, dim, **kw):
        super().__init__(**kw)
        self.mean = layers.Dense(dim)
        self.log_var = layers.Dense(dim)
        self.seed = keras.random.SeedGenerator(31)
        self.beta = self.add_weight(shape=(), initializer="zeros", trainable=False, name="beta")

    def call(self, h, training=False):
        m, lv = self.mean(h), ops.clip(self.log_var(h), -8.0, 8.0)
        kl = 0.5 * ops.sum(ops.exp(lv) + ops.square(m) - 1.0 - lv, axis=-1)
        self.add_loss(self.beta * ops.mean(kl))
        if training:
            return m + ops.exp(0.5 * lv) * keras.random.normal(ops.shape(m), seed=self.seed)
        return m


class WarmUp(keras.callbacks.Callback):
    def __init__(self, layer, epochs):
        super().__init__()
        self.layer, self.epochs = layer, epochs

    def on_epoch_begin(self, epoch, logs=None):
        self.layer.beta.assign(min(1.0, epoch / self.epochs))


def squared_error(y_true, y_pred):
    return ops.sum(ops.square(y_true - y_pred), axis=-1) / (2 * 0.1 ** 2)


def main():
    keras.utils.set_random_seed(31)
    rng = np.random.default_rng(31)
    # waves with random phase and pitch
    t = np.linspace(0, 1, 40)
    phase, pitch = rng.uniform(0, 2 * np.pi, (3000, 1)), rng.uniform(1, 2, (3000, 1))
    x = (np.sin(2 * np.pi * pitch * t + phase) + 0.1 * rng.normal(size=(3000, 40))).astype("float32")
    x_tr, x_te = x[:2500], x[2500:]

    code = VariationalLayer(3)
    inp = keras.Input((40,))
    h = layers.Dense(64, activation="relu")(inp)
    h = layers.Dense(64, activation="relu")(h)
    z = code(h)
    d = layers.Dense(64, activation="relu")(z)
    d = layers.Dense(64, activation="relu")(d)
    vae = keras.Model(inp, layers.Dense(40)(d))
    vae.compile(optimizer=keras.optimizers.Adam(2e-3), loss=squared_error)
    vae.fit(x_tr, x_tr, epochs=25, batch_size=64, verbose=2, validation_data=(x_te, x_te),
            callbacks=[WarmUp(code, 12)])
    rec = vae.predict(x_te, verbose=0)
    print("reconstruction rmse", np.sqrt(((rec - x_te) ** 2).mean()), "signal std", x_te.std())


if __name__ == "__main__":
    main()
