"""GAN for a ring of Gaussians, TensorFlow backend, custom loop."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(0)

LATENT = 8
BATCH = 96
STEPS = 1200
MODES = 6

angles = np.arange(MODES) * 2 * np.pi / MODES
centers = np.stack([np.cos(angles), np.sin(angles)], 1).astype("float32") * 1.5


def real_batch(rng, n):
    which = rng.integers(0, MODES, n)
    return centers[which] + 0.12 * rng.normal(size=(n, 2)).astype("float32")


generator = keras.Sequential([
    keras.Input((LATENT,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(2),
])
discriminator = keras.Sequential([
    keras.Input((2,)),
    layers.Dense(64, activation="leaky_relu"),
    layers.Dense(64, activation="leaky_relu"),
    layers.Dense(1),
])

g_opt = keras.optimizers.Adam(1e-3, beta_1=0.5)
d_opt = keras.optimizers.Adam(2e-3, beta_1=0.5)
bce = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def d_step(real, z):
    fake = generator(z, training=True)
    with tf.GradientTape() as tape:
        real_logits = discriminator(real, training=True)
        fake_logits = discriminator(fake, training=True)
        loss = (bce(tf.ones_like(real_logits) * 0.9, real_logits)
                + bce(tf.zeros_like(fake_logits), fake_logits))
    grads = tape.gradient(loss, discriminator.trainable_variables)
    d_opt.apply_gradients(zip(grads, discriminator.trainable_variables))
    return loss


@tf.function
def g_step(z):
    with tf.GradientTape() as tape:
        logits = discriminator(generator(z, training=True), training=True)
        loss = bce(tf.ones_like(logits), logits)
    grads = tape.gradient(loss, generator.trainable_variables)
    g_opt.apply_gradients(zip(grads, generator.trainable_variables))
    return loss


rng = np.random.default_rng(0)
for step in range(1, STEPS + 1):
    real = tf.constant(real_batch(rng, BATCH))
    d_loss = d_step(real, tf.random.normal((BATCH, LATENT)))
    g_loss = g_step(tf.random.normal((BATCH, LATENT)))
    if step % 100 == 0:
        print(f"step {step:5d}  d_loss {float(d_loss):.3f}  g_loss {float(g_loss):.3f}")

samples = generator(tf.random.normal((2000, LATENT)), training=False).numpy()
dist = np.linalg.norm(samples[:, None] - centers[None], axis=-1)
nearest = dist.argmin(1)
good = dist.min(1) < 0.4
print("share of samples near a mode:", round(float(good.mean()), 3))
print("samples per mode:", np.bincount(nearest[good], minlength=MODES).tolist())
