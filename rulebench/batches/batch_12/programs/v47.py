import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras

# REINFORCE on a contextual bandit with 4 arms
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
W = rng.normal(size=(6, 4)).astype("float32")


def sample_contexts(n):
    return rng.normal(size=(n, 6)).astype("float32")


def reward(ctx, a):
    s = ctx @ W
    return (s.argmax(1) == a).astype("float32")


policy = keras.Sequential([
    keras.layers.Input((6,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(4),
])
opt = keras.optimizers.Adam(0.01)
baseline = 0.25
for it in range(300):
    ctx = sample_contexts(128)
    logits = policy(ctx)
    a = tf.random.categorical(logits, 1)[:, 0].numpy()
    r = reward(ctx, a)
    adv = r - baseline
    baseline = 0.9 * baseline + 0.1 * r.mean()
    with tf.GradientTape() as tape:
        logp = tf.nn.log_softmax(policy(ctx))
        chosen = tf.reduce_sum(logp * tf.one_hot(a, 4), axis=1)
        loss = tf.reduce_mean(chosen * adv)
    grads = tape.gradient(loss, policy.trainable_variables)
    opt.apply_gradients(zip(grads, policy.trainable_variables))
    if it % 30 == 0:
        print(f"iter {it} mean reward {r.mean():.3f} loss {float(loss):.4f}")

ctx = sample_contexts(2000)
print("greedy reward", reward(ctx, np.argmax(policy(ctx).numpy(), 1)).mean())
