"""GAN on a ring of Gaussians, two networks trained in turn."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(3)
NOISE, BATCH, STEPS = 8, 128, 3000

rng = np.random.default_rng(3)
k = rng.integers(0, 6, size=6000)
ring = np.stack([np.cos(2 * np.pi * k / 6), np.sin(2 * np.pi * k / 6)], 1) * 1.5
real = (ring + rng.normal(scale=0.12, size=ring.shape)).astype("float32")

generator = keras.Sequential([
    keras.Input((NOISE,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(2),
], name="generator")
critic = keras.Sequential([
    keras.Input((2,)),
    layers.Dense(64),
    layers.LeakyReLU(0.2),
    layers.Dense(64),
    layers.LeakyReLU(0.2),
    layers.Dense(1),
], name="discriminator")

bce = keras.losses.BinaryCrossentropy(from_logits=True)
g_opt = keras.optimizers.Adam(1e-3, beta_1=0.5)
d_opt = keras.optimizers.Adam(1e-3, beta_1=0.5)
g_opt.build(generator.trainable_variables)
d_opt.build(critic.trainable_variables)


@tf.function
def train_step(batch):
    z = tf.random.normal((BATCH, NOISE))
    fake = generator(z, training=True)
    with tf.GradientTape() as tape:
        d_real = critic(batch, training=True)
        d_fake = critic(tf.stop_gradient(fake), training=True)
        d_loss = 0.5 * (
            bce(0.9 * tf.ones_like(d_real), d_real) + bce(tf.zeros_like(d_fake), d_fake)
        )
    grads = tape.gradient(d_loss, critic.trainable_variables)
    d_opt.apply_gradients(zip(grads, critic.trainable_variables))

    z = tf.random.normal((BATCH, NOISE))
    with tf.GradientTape() as tape:
        d_fake = critic(generator(z, training=True), training=True)
        g_loss = bce(tf.ones_like(d_fake), d_fake)
    grads = tape.gradient(g_loss, generator.trainable_variables)
    g_opt.apply_gradients(zip(grads, generator.trainable_variables))
    return d_loss, g_loss


def report(step, d_loss, g_loss):
    sample = generator(tf.random.normal((1000, NOISE))).numpy()
    centres = np.unique(np.round(ring, 6), axis=0)
    dist = np.linalg.norm(sample[:, None] - centres[None], axis=-1)
    near = dist.min(1) < 0.4
    modes = len(np.unique(dist.argmin(1)[near]))
    print(f"step {step:5d} d {d_loss:.3f} g {g_loss:.3f} near a mode {near.mean():.2f} modes {modes}")


for step in range(1, STEPS + 1):
    batch = real[rng.integers(0, len(real), BATCH)]
    d_loss, g_loss = train_step(tf.constant(batch))
    if step % 250 == 0:
        report(step, float(d_loss), float(g_loss))
