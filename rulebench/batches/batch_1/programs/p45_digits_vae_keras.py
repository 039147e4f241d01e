# VAE as keras.Model subclass with own train_step, KL warm-up
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy as np, tensorflow as tf
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(11)


class VAE(keras.Model):
    def __init__(self, latent=6):
        super().__init__()
        self.encoder = keras.Sequential([layers.Dense(96, activation="swish"), layers.Dense(48, activation="swish"), layers.Dense(2 * latent)])
        self.decoder = keras.Sequential([layers.Dense(48, activation="swish"), layers.Dense(96, activation="swish"), layers.Dense(64)])
        self.beta = keras.Variable(0.0, trainable=False, name="beta")
        self.seed_gen = keras.random.SeedGenerator(5)
        self.m = {k: keras.metrics.Mean(name=k) for k in ("loss", "rec", "kl")}

    @property
    def metrics(self):
        return list(self.m.values())

    def call(self, x):
        mu, logvar = ops.split(self.encoder(x), 2, axis=-1)
        z = mu + ops.exp(0.5 * logvar) * keras.random.normal(ops.shape(mu), seed=self.seed_gen)
        return self.decoder(z), mu, logvar

    def train_step(self, x):
        with tf.GradientTape() as tape:
            logits, mu, logvar = self(x, training=True)
            rec = ops.mean(ops.sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), axis=1))
            kl = -0.5 * ops.mean(ops.sum(1 + logvar - mu ** 2 - ops.exp(logvar), axis=1))
            loss = rec + self.beta * kl
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        for k, v in (("loss", loss), ("rec", rec), ("kl", kl)):
            self.m[k].update_state(v)
        return {k: v.result() for k, v in self.m.items()}


class Warmup(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.model.beta.assign(min(1.0, epoch / 15))


x = (load_digits().data / 16).astype("float32")
vae = VAE()
vae.compile(optimizer=keras.optimizers.Adam(2e-3))
vae.fit(x, batch_size=64, epochs=30, callbacks=[Warmup()], verbose=2)
mu = ops.split(vae.encoder(x), 2, axis=-1)[0]
rec = ops.sigmoid(vae.decoder(mu))
print("mse", float(ops.mean((rec - x) ** 2)), "mean-image mse", float(x.var(0).mean()))
