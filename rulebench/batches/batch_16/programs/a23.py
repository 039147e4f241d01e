import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler


class SensorData:
    """Readings of 20 correlated sensors; failures break the correlation."""

    def __init__(self, n_train=2000, n_test=600, dim=20, seed=0):
        rng = np.random.default_rng(seed)
        mix = rng.normal(size=(4, dim))
        offset = rng.uniform(-30, 30, dim)
        scale = rng.uniform(0.5, 8, dim)

        def normal(n):
            z = rng.normal(size=(n, 4))
            return (z @ mix + 0.2 * rng.normal(size=(n, dim))) * scale + offset

        self.train = normal(n_train)
        test = normal(n_test)
        self.labels = np.zeros(n_test)
        self.labels[: n_test // 10] = 1
        for i in range(n_test // 10):
            cols = rng.choice(dim, 3, replace=False)
            test[i, cols] = offset[cols] + scale[cols] * rng.normal(size=3) * 2
        self.test = test


def build_autoencoder(dim, code=4):
    inputs = keras.Input((dim,))
    h = layers.Dense(32, activation="relu")(inputs)
    z = layers.Dense(code, name="code")(h)
    h = layers.Dense(32, activation="relu")(z)
    outputs = layers.Dense(dim, activation="sigmoid")(h)
    return keras.Model(inputs, outputs, name="autoencoder")


def score(model, x):
    rec = model.predict(x, verbose=0)
    return np.mean((rec - x) ** 2, axis=1)


def main():
    keras.utils.set_random_seed(3)
    data = SensorData()
    scaler = StandardScaler().fit(data.train)
    x_train = scaler.transform(data.train).astype("float32")
    x_test = scaler.transform(data.test).astype("float32")

    ae = build_autoencoder(x_train.shape[1])
    ae.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
    ae.fit(x_train, x_train, epochs=20, batch_size=64, validation_split=0.1, verbose=2)

    train_err = score(ae, x_train)
    threshold = np.quantile(train_err, 0.98)
    err = score(ae, x_test)
    flagged = err > threshold
    print("mean reconstruction error (train):", train_err.mean())
    print("AUC:", roc_auc_score(data.labels, err))
    print("recall:", flagged[data.labels == 1].mean(), "false alarms:", flagged[data.labels == 0].mean())


if __name__ == "__main__":
    main()
