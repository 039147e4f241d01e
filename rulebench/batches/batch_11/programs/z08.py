import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


def make_encoder(latent):
    x = inp = keras.Input((64,))
    x = layers.Dense(96, activation="relu")(x)
    x = layers.Dense(48, activation="relu")(x)
    mean, log_var = layers.Dense(latent, name="z_mean")(x), layers.Dense(latent, name="z_log_var", kernel_initializer="zeros")(x)
    return keras.Model(inp, [mean, log_var, Sampling()([mean, log_var])], name="encoder")


def make_decoder(latent):
    x = inp = keras.Input((latent,))
    x = layers.Dense(48, activation="relu")(x)
    x = layers.Dense(96, activation="relu")(x)
    return keras.Model(inp, layers.Dense(64, activation="sigmoid")(x), name="decoder")


class VAE(keras.Model):
    def __init__(self, latent=4, beta=0.5, **kw):
        super().__init__(**kw)
        self.encoder, self.decoder, self.beta = make_encoder(latent), make_decoder(latent), beta
        self.trackers = {k: keras.metrics.Mean(name=k) for k in ("loss", "recon", "kl")}

    @property
    def metrics(self):
        return list(self.trackers.values())

    def call(self, x):
        return self.decoder(self.encoder(x)[0])

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mean, log_var, z = self.encoder(x)
            r = self.decoder(z)
            recon = ops.mean(ops.sum(keras.losses.binary_crossentropy(x[..., None], r[..., None]), axis=-1))
            kl = ops.mean(ops.sum(-0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
            loss = recon + self.beta * kl
        weights = self.decoder.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        for k, v in zip(("loss", "recon", "kl"), (loss, recon, kl)):
            self.trackers[k].update_state(v)
        return {k: m.result() for k, m in self.trackers.items()}


def main():
    keras.utils.set_random_seed(4)
    x = (load_digits().data / 16).astype("float32")
    np.random.shuffle(x)
    xtr, xte = x[:1500], x[1500:]
    vae = VAE()
    vae.compile(optimizer=keras.optimizers.Adam(2e-3))
    vae.fit(xtr, epochs=30, batch_size=64, verbose=2)
    r = vae.predict(xte, verbose=0)
    print(f"test mse {np.mean((r - xte) ** 2):.4f} mean-image mse {np.mean((xte - xtr.mean(0)) ** 2):.4f}")


if __name__ == "__main__":
    main()
