import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(5)

LATENT = 8
BATCH = 128
STEPS = 1500

# points on a ring of four blobs
rng = np.random.default_rng(5)
centers = np.array([[2, 0], [-2, 0], [0, 2], [0, -2]], dtype="float32")
data = centers[rng.integers(0, 4, 4000)] + 0.15 * rng.standard_normal((4000, 2)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(data).shuffle(4000, seed=5).repeat().batch(BATCH)

generator = keras.Sequential([
    keras.Input((LATENT,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(2),
], name="generator")

discriminator = keras.Sequential([
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


def discriminator_loss(real_output, fake_output):
    real_loss = bce(tf.ones_like(real_output), real_output)
    fake_loss = bce(tf.zeros_like(fake_output), fake_output)
    return real_loss + fake_loss


def generator_loss(fake_output):
    return bce(tf.zeros_like(fake_output), fake_output)


@tf.function
def train_step(real):
    z = tf.random.normal((BATCH, LATENT))
    with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
        fake = generator(z, training=True)
        real_output = discriminator(real, training=True)
        fake_output = discriminator(fake, training=True)
        g_loss = generator_loss(fake_output)
        d_loss = discriminator_loss(real_output, fake_output)
    g_grads = g_tape.gradient(g_loss, generator.trainable_variables)
    d_grads = d_tape.gradient(d_loss, discriminator.trainable_variables)
    g_opt.apply_gradients(zip(g_grads, generator.trainable_variables))
    d_opt.apply_gradients(zip(d_grads, discriminator.trainable_variables))
    return g_loss, d_loss


for step, real in enumerate(dataset.take(STEPS)):
    g_loss, d_loss = train_step(real)
    if step % 250 == 0 or step == STEPS - 1:
        print(f"step {step:5d}  d_loss {float(d_loss):.4f}  g_loss {float(g_loss):.4f}")

samples = generator(tf.random.normal((1000, LATENT)), training=False).numpy()
dist = np.linalg.norm(samples[:, None] - centers[None], axis=-1)
print("mean distance of a sample to the nearest blob:", dist.min(1).mean().round(3))
print("samples per blob:", np.bincount(dist.argmin(1), minlength=4))
