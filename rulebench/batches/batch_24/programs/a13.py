import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
LATENT = 8


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_gen = keras.random.SeedGenerator(1)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_gen)
        return mean + ops.exp(0.5 * log_var) * eps


enc_in = keras.Input((64,))
h = layers.Dense(128, activation="relu")(enc_in)
h = layers.Dense(64, activation="relu")(h)
z_mean = layers.Dense(LATENT)(h)
z_log_var = layers.Dense(LATENT)(h)
z = Sampling()([z_mean, z_log_var])
encoder = keras.Model(enc_in, [z_mean, z_log_var, z])

dec_in = keras.Input((LATENT,))
h = layers.Dense(64, activation="relu")(dec_in)
h = layers.Dense(128, activation="relu")(h)
decoder = keras.Model(dec_in, layers.Dense(64, activation="sigmoid")(h))


class VAE(keras.Model):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.total = keras.metrics.Mean(name="loss")
        self.rec = keras.metrics.Mean(name="rec")
        self.kl = keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.total, self.rec, self.kl]

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mean, log_var, z = self.encoder(x, training=True)
            recon = self.decoder(z, training=True)
            rec = ops.mean(keras.losses.binary_crossentropy(x, recon))
            kl = -0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var))
            kl = ops.mean(ops.sum(kl, axis=1))
            loss = rec + kl
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total.update_state(loss)
        self.rec.update_state(rec)
        self.kl.update_state(kl)
        return {m.name: m.result() for m in self.metrics}


digits = load_digits()
x = (digits.data / 16.0).astype("float32")
x_train, x_test, y_test = x[:1500], x[1500:], digits.target[1500:]

ds = tf.data.Dataset.from_tensor_slices(x_train).shuffle(1500, seed=0).batch(50)
vae = VAE(encoder, decoder)
vae.compile(optimizer=keras.optimizers.Adam(1e-3))
vae.fit(ds, epochs=40, verbose=2)

m, lv, _ = encoder.predict(x_test, verbose=0)
recon = decoder.predict(m, verbose=0)
print("test reconstruction mse", np.mean((recon - x_test) ** 2))
print("variance of the data   ", np.mean((x_train.mean(0) - x_test) ** 2))
centroid = np.stack([m[y_test == c].mean(0) for c in range(10)])
nearest = np.linalg.norm(m[:, None] - centroid[None], axis=-1).argmin(1)
print("nearest-centroid accuracy in latent space", np.mean(nearest == y_test))
samples = decoder.predict(np.random.default_rng(0).normal(size=(64, LATENT)).astype("float32"), verbose=0)
print("pixel std over generated samples", samples.std(0).mean(), "data", x_test.std(0).mean())
