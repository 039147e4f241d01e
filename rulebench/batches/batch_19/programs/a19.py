import os
os.environ["KERAS_BACKEND"] = "tensorflow"

from collections import deque

import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(29)
rng = np.random.default_rng(29)

N = 5
GOAL = (4, 4)
PITS = {(1, 3), (3, 1), (2, 2)}
GAMMA = 0.95
BATCH = 32
TARGET_EVERY = 100
TOTAL_STEPS = 2000
WARMUP = 200


class Grid:
    def reset(self):
        self.pos = (0, 0)
        self.t = 0
        return self.obs()

    def obs(self):
        o = np.zeros(N * N, dtype="float32")
        o[self.pos[0] * N + self.pos[1]] = 1
        return o

    def step(self, a):
        dr, dc = [(-1, 0), (1, 0), (0, -1), (0, 1)][a]
        r = min(max(self.pos[0] + dr, 0), N - 1)
        c = min(max(self.pos[1] + dc, 0), N - 1)
        self.pos = (r, c)
        self.t += 1
        if self.pos == GOAL:
            return self.obs(), 1.0, True, False
        if self.pos in PITS:
            return self.obs(), -1.0, True, False
        return self.obs(), -0.02, False, self.t >= 40


def q_network():
    return keras.Sequential(
        [keras.Input((N * N,)), layers.Dense(64, activation="relu"), layers.Dense(4)]
    )


online, target = q_network(), q_network()
target.set_weights(online.get_weights())
optimizer = keras.optimizers.Adam(2e-3)
huber = keras.losses.Huber()


@tf.function
def learn(s, a, r, s2, terminal):
    best = tf.argmax(online(s2), axis=1)
    q_next = tf.gather(target(s2), best, batch_dims=1)
    y = r + GAMMA * (1.0 - terminal) * q_next
    with tf.GradientTape() as tape:
        q = tf.gather(online(s, training=True), a, batch_dims=1)
        loss = huber(tf.stop_gradient(y), q)
    grads = tape.gradient(loss, online.trainable_variables)
    optimizer.apply_gradients(zip(grads, online.trainable_variables))
    return loss


@tf.function
def greedy(s):
    return tf.argmax(online(s), axis=1)


env, buffer = Grid(), deque(maxlen=2000)
obs, ep_ret, returns, losses = env.reset(), 0.0, [], []
for step in range(1, TOTAL_STEPS + 1):
    eps = max(0.05, 1.0 - step / 1000)
    if rng.random() < eps:
        a = int(rng.integers(0, 4))
    else:
        a = int(greedy(tf.constant(obs[None]))[0])
    nxt, r, term, trunc = env.step(a)
    buffer.append((obs, a, r, nxt, float(term)))
    ep_ret += r
    obs = nxt
    if term or trunc:
        returns.append(ep_ret)
        obs, ep_ret = env.reset(), 0.0
    if step > WARMUP:
        idx = rng.integers(0, len(buffer), BATCH)
        s, act, rew, s2, d = (np.stack(v) for v in zip(*[buffer[i] for i in idx]))
        losses.append(float(learn(s, act.astype("int32"), rew.astype("float32"), s2, d.astype("float32"))))
    if step % TARGET_EVERY == 0:
        target.set_weights(online.get_weights())
    if step % 500 == 0:
        print(f"step {step}  eps {eps:.2f}  loss {np.mean(losses[-200:]):.4f}  return {np.mean(returns[-20:]):+.3f}")

obs, done, total = env.reset(), False, 0.0
while not done:
    obs, r, term, trunc = env.step(int(greedy(tf.constant(obs[None]))[0]))
    total += r
    done = term or trunc
print(f"greedy return {total:.3f} in {env.t} moves")
