"""Insurance claim counts: Poisson regression with exposure."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import argparse
import numpy as np
import keras
from keras import layers, ops


def portfolio(n, rng):
    age = rng.uniform(18, 80, n)
    power = rng.integers(4, 13, n)
    region = rng.integers(0, 6, n)
    exposure = rng.uniform(0.1, 1.0, n)
    effect = np.array([0.0, 0.3, -0.2, 0.5, -0.4, 0.1])[region]
    rate = np.exp(-1.6 + 0.0011 * (age - 48) ** 2 + 0.07 * power + effect)
    claims = rng.poisson(rate * exposure)
    num = np.stack([(age - 49) / 18, (power - 8) / 2.6], 1).astype("float32")
    return {"num": num, "region": region.astype("int32"),
            "log_exposure": np.log(exposure).astype("float32")[:, None]}, claims.astype("float32"), rate * exposure


def poisson_deviance(y, mu):
    y, mu = np.asarray(y, float), np.asarray(mu, float)
    term = np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mu), 0.0)
    return 2 * np.mean(term - y + mu)


class PoissonNLL(keras.losses.Loss):
    def call(self, y_true, log_mu):
        y_true = ops.reshape(ops.cast(y_true, log_mu.dtype), ops.shape(log_mu))
        return ops.mean(ops.exp(log_mu) - y_true * log_mu, axis=-1)


def build(start):
    num = keras.Input((2,), name="num")
    region = keras.Input((), dtype="int32", name="region")
    log_exposure = keras.Input((1,), name="log_exposure")
    h = layers.Concatenate()([num, layers.Embedding(6, 3)(region)])
    h = layers.Dense(32, activation="tanh")(h)
    h = layers.Dense(16, activation="tanh")(h)
    log_rate = layers.Dense(1, kernel_initializer="zeros",
                            bias_initializer=keras.initializers.Constant(start))(h)
    return keras.Model({"num": num, "region": region, "log_exposure": log_exposure},
                       layers.Add()([log_rate, log_exposure]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=8000)
    ap.add_argument("--epochs", type=int, default=15)
    args = ap.parse_args()
    keras.utils.set_random_seed(15)
    rng = np.random.default_rng(15)
    x_tr, y_tr, _ = portfolio(args.n, rng)
    x_te, y_te, mu_te = portfolio(3000, rng)

    start = float(np.log(y_tr.sum() / np.exp(x_tr["log_exposure"]).sum()))
    model = build(start)
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=PoissonNLL())
    model.fit(x_tr, y_tr, batch_size=128, epochs=args.epochs, validation_data=(x_te, y_te), verbose=2)

    mu = np.exp(model.predict(x_te, verbose=0)[:, 0])
    flat = np.exp(start + x_te["log_exposure"][:, 0])
    print("deviance: flat rate %.4f  network %.4f  true rate %.4f" % (
        poisson_deviance(y_te, flat), poisson_deviance(y_te, mu), poisson_deviance(y_te, mu_te)))
    print("claims predicted %.0f, observed %.0f" % (mu.sum(), y_te.sum()))


if __name__ == "__main__":
    main()
