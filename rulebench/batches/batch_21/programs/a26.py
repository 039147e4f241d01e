import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf
import keras
from keras import layers

SEED, LATENT, BATCH, CRITIC_STEPS, GEN_STEPS, GP = 12, 4, 128, 4, 500, 1.0
keras.utils.set_random_seed(SEED)

# two moons by hand
rng = np.random.default_rng(SEED)
t = rng.uniform(0, np.pi, 4000)
upper = rng.random(4000) < 0.5
data = np.where(upper[:, None], np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)])
data = (data + 0.05 * rng.standard_normal(data.shape)).astype("float32")
data = tf.constant((data - data.mean(0)) / data.std(0))


def mlp(n_in, n_out):
    return keras.Sequential([
        keras.Input((n_in,)),
        layers.Dense(64, activation="leaky_relu"),
        layers.Dense(64, activation="leaky_relu"),
        layers.Dense(n_out),
    ])


generator, critic = mlp(LATENT, 2), mlp(2, 1)
g_opt = keras.optimizers.Adam(1e-3, beta_1=0.0, beta_2=0.9)
c_opt = keras.optimizers.Adam(1e-3, beta_1=0.0, beta_2=0.9)


def sample_real():
    return tf.gather(data, tf.random.uniform((BATCH,), 0, len(data), dtype=tf.int32))


@tf.function
def critic_step():
    real = sample_real()
    fake = generator(tf.random.normal((BATCH, LATENT)))
    with tf.GradientTape() as tape:
        mix = tf.random.uniform((BATCH, 1))
        between = mix * real + (1 - mix) * fake
        with tf.GradientTape() as inner:
            inner.watch(between)
            score = critic(between)
        slope = tf.norm(inner.gradient(score, between) + 1e-12, axis=1)
        gap = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real))
        loss = gap + GP * tf.reduce_mean((slope - 1.0) ** 2)
    c_opt.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
    return -gap


@tf.function
def generator_step():
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(critic(generator(tf.random.normal((BATCH, LATENT)))))
    g_opt.apply_gradients(zip(tape.gradient(loss, generator.trainable_variables), generator.trainable_variables))
    return loss


def nearest(a, b):
    return float(np.linalg.norm(a[:, None] - b[None], axis=-1).min(1).mean())


z_eval = tf.random.normal((500, LATENT))
for step in range(1, GEN_STEPS + 1):
    for _ in range(CRITIC_STEPS):
        wasserstein = critic_step()
    g_loss = generator_step()
    if step % 100 == 0 or step == 1:
        s, d = generator(z_eval).numpy(), data.numpy()[:500]
        print(f"step {step:4d}  critic gap {float(wasserstein):.4f}  g_loss {float(g_loss):.4f}  "
              f"sample->data {nearest(s, d):.3f}  data->sample {nearest(d, s):.3f}")
