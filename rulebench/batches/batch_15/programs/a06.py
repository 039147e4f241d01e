"""Neural Cox proportional hazards model (DeepSurv style) with a custom training loop."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import argparse

import numpy as np
import tensorflow as tf
import keras
from keras import layers


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 8)).astype("float32")
    risk = 1.1 * x[:, 0] - 0.9 * x[:, 1] + 0.8 * np.abs(x[:, 2]) + 0.5 * x[:, 3] * x[:, 4]
    t = rng.exponential(np.exp(-risk))
    c = rng.exponential(2.0, n)
    time = np.minimum(t, c).astype("float32")
    event = (t <= c).astype("float32")
    return x, time, event


def concordance(time, event, score):
    num = den = 0.0
    for i in np.where(event == 1)[0]:
        later = time > time[i]
        den += later.sum()
        num += (score[i] > score[later]).sum() + 0.5 * (score[i] == score[later]).sum()
    return num / den


def cox_loss(log_risk, time, event):
    """Negative log partial likelihood (Breslow) of one batch."""
    order = tf.argsort(time)
    log_risk = tf.gather(log_risk, order)
    event = tf.gather(event, order)
    log_denominator = tf.math.log(tf.cumsum(tf.exp(log_risk)) + 1e-8)
    ll = (log_risk - log_denominator) * event
    return -tf.reduce_sum(ll) / (tf.reduce_sum(event) + 1e-8)


class DeepSurv:
    def __init__(self, n_features, lr, weight_decay):
        self.net = keras.Sequential([
            layers.Input((n_features,)),
            layers.Dense(32, activation="tanh"),
            layers.Dense(32, activation="tanh"),
            layers.Dense(1, use_bias=False),
        ])
        self.opt = keras.optimizers.AdamW(lr, weight_decay=weight_decay)

    @tf.function
    def step(self, x, time, event):
        with tf.GradientTape() as tape:
            log_risk = tf.squeeze(self.net(x, training=True), -1)
            loss = cox_loss(log_risk, time, event)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    def fit(self, data, val, epochs, batch_size):
        ds = tf.data.Dataset.from_tensor_slices(data).shuffle(4000, seed=0)
        ds = ds.batch(batch_size, drop_remainder=True)
        for epoch in range(epochs):
            losses = [float(self.step(*batch)) for batch in ds]
            if epoch % 5 == 4:
                x, t, e = val
                ci = concordance(t, e, self.predict(x))
                print(f"epoch {epoch + 1:3d}  loss {np.mean(losses):.4f}  val c-index {ci:.4f}")

    def predict(self, x):
        return self.net(x, training=False).numpy().ravel()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--weight-decay", type=float, default=1e-4)
    args = ap.parse_args()

    keras.utils.set_random_seed(8)
    train, val, test = simulate(2500, 1), simulate(600, 2), simulate(800, 3)
    print("event rate", train[2].mean())
    model = DeepSurv(8, args.lr, args.weight_decay)
    model.fit(train, val, args.epochs, args.batch_size)
    x, t, e = test
    print(f"test c-index {concordance(t, e, model.predict(x)):.4f}")


if __name__ == "__main__":
    main()
