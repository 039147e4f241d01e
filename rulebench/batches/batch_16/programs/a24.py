import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops


class HazardLoss(keras.losses.Loss):
    """Negative log likelihood of discrete time survival.

    y_true holds [at risk in interval j | event in interval j].
    """

    def __init__(self, bins):
        super().__init__(name="hazard")
        self.bins = bins

    def call(self, y_true, logits):
        at_risk, event = y_true[:, :self.bins], y_true[:, self.bins:]
        ll = event * -ops.softplus(-logits) + (at_risk - event) * -ops.softplus(logits)
        return -ops.sum(ll, axis=-1)


def encode(time, observed, edges):
    bins = len(edges) - 1
    k = np.clip(np.digitize(time, edges) - 1, 0, bins - 1)
    j = np.arange(bins)[None]
    at_risk = np.where(observed[:, None] == 1, j <= k[:, None], j < k[:, None]).astype("float32")
    event = ((j == k[:, None]) & (observed[:, None] == 1)).astype("float32")
    return np.concatenate([at_risk, event], 1)


def concordance(time, observed, risk):
    good = total = 0
    for i in np.where(observed == 1)[0]:
        later = time > time[i]
        good += (risk[i] > risk[later]).sum() + 0.5 * (risk[i] == risk[later]).sum()
        total += later.sum()
    return good / total


def main():
    keras.utils.set_random_seed(5)
    rng = np.random.default_rng(5)
    n, bins = 3000, 12
    x = rng.normal(size=(n, 6)).astype("float32")
    rate = 0.1 * np.exp(0.8 * x[:, 0] - 0.6 * x[:, 1] + 0.4 * x[:, 2] * x[:, 3])
    t_event = rng.exponential(1 / rate)
    t_cens = rng.uniform(2, 30, n)
    time = np.minimum(t_event, t_cens)
    observed = (t_event <= t_cens).astype(int)
    print("share of events", observed.mean())

    tr, te = np.arange(n) < 2200, np.arange(n) >= 2200
    edges = np.concatenate([[0], np.quantile(time[tr & (observed == 1)], np.linspace(0, 1, bins + 1)[1:-1]), [1e9]])
    y = encode(time, observed, edges)

    model = keras.Sequential([layers.Input((6,)), layers.Dense(32, activation="relu"),
                              layers.Dropout(0.1), layers.Dense(bins, bias_initializer=keras.initializers.Constant(-2.0))])
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=HazardLoss(bins))
    model.fit(x[tr], y[tr], epochs=20, batch_size=64, verbose=2, validation_data=(x[te], y[te]))

    hazard = 1 / (1 + np.exp(-model.predict(x[te], verbose=0)))
    survival = np.cumprod(1 - hazard, axis=1)
    risk = -survival.sum(axis=1)
    print("concordance", concordance(time[te], observed[te], risk))
    print("concordance with the true rate", concordance(time[te], observed[te], rate[te]))


if __name__ == "__main__":
    main()
