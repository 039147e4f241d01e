import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

keras.utils.set_random_seed(3)
digits = load_digits()
x = (digits.data / 16.0).astype("float32")
idx = np.random.permutation(len(x))
x, y = x[idx], digits.target[idx]
x_train, x_test, y_train, y_test = x[:1400], x[1400:], y[:1400], y[1400:]
LATENT = 8


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        # the divergence from the standard normal
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)
        self.add_loss(ops.mean(kl))
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


inp = keras.Input((64,))
h = layers.Dense(128, activation="relu")(inp)
mean = layers.Dense(LATENT, name="mean")(h)
log_var = layers.Dense(LATENT, name="log_var")(h)
z = Sampling()([mean, log_var])
h = layers.Dense(128, activation="relu")(z)
out = layers.Dense(64, activation="sigmoid")(h)
vae = keras.Model(inp, out)
encoder = keras.Model(inp, mean)

vae.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy")
hist = vae.fit(x_train, x_train, epochs=25, batch_size=64, validation_data=(x_test, x_test), verbose=2)

rec = vae.predict(x_test, verbose=0)
print("reconstruction MSE on test: %.4f" % np.mean((rec - x_test) ** 2))
probe = LogisticRegression(max_iter=2000).fit(encoder.predict(x_train, verbose=0), y_train)
print("digit read from the latent mean (test): %.4f" % probe.score(encoder.predict(x_test, verbose=0), y_test))
