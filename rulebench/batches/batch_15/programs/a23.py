"""DQN on a small point-mass task: push the mass to the origin and keep it there."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import argparse
import random
from collections import deque

import numpy as np
import tensorflow as tf
import keras
from keras import layers


class PointMass:
    n_actions = 3
    horizon = 50

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.t = 0
        self.state = np.array([self.rng.uniform(-1, 1), 0.0], dtype="float32")
        return self.state

    def step(self, action):
        force = (action - 1) * 0.05
        self.state[1] = 0.9 * self.state[1] + force
        self.state[0] = np.clip(self.state[0] + self.state[1], -2, 2)
        self.t += 1
        reward = 1.0 - min(abs(float(self.state[0])), 1.0)
        return self.state, reward, self.t >= self.horizon


class Agent:
    def __init__(self, args):
        self.gamma, self.batch = args.gamma, args.batch_size
        self.q = self.make_net()
        self.target = self.make_net()
        self.sync()
        self.opt = keras.optimizers.Adam(args.lr)
        self.memory = deque(maxlen=args.buffer)

    @staticmethod
    def make_net():
        return keras.Sequential([
            layers.Input((2,)),
            layers.Dense(48, activation="relu"),
            layers.Dense(48, activation="relu"),
            layers.Dense(PointMass.n_actions),
        ])

    def sync(self):
        self.target.set_weights(self.q.get_weights())

    @tf.function
    def q_values(self, s):
        return self.q(s, training=False)

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(PointMass.n_actions)
        return int(np.argmax(self.q_values(tf.constant(state[None]))[0]))

    @tf.function
    def update(self, s, a, r, s2):
        target = r + self.gamma * tf.reduce_max(self.target(s2), axis=1)
        with tf.GradientTape() as tape:
            q = tf.reduce_sum(self.q(s, training=True) * tf.one_hot(a, 3), axis=1)
            loss = tf.reduce_mean(keras.losses.huber(target[:, None], q[:, None]))
        grads = tape.gradient(loss, self.q.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.q.trainable_variables))
        return loss

    def learn(self):
        s, a, r, s2 = zip(*random.sample(self.memory, self.batch))
        return float(self.update(tf.constant(np.stack(s)), tf.constant(a, tf.int32),
                                 tf.constant(r, tf.float32), tf.constant(np.stack(s2))))


def evaluate(agent, episodes=20):
    env = PointMass(999)
    returns = []
    for _ in range(episodes):
        s, done, total = env.reset(), False, 0.0
        while not done:
            s, r, done = env.step(agent.act(s, 0.0))
            total += r
        returns.append(total)
    return float(np.mean(returns))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--episodes", type=int, default=80)
    ap.add_argument("--gamma", type=float, default=0.95)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--buffer", type=int, default=5000)
    ap.add_argument("--seed", type=int, default=6)
    args = ap.parse_args()

    keras.utils.set_random_seed(args.seed)
    env, agent = PointMass(args.seed), Agent(args)
    print("return before training %.2f" % evaluate(agent))
    steps = 0
    for ep in range(args.episodes):
        eps = max(0.05, 1.0 - ep / (0.6 * args.episodes))
        state, done, total, losses = env.reset(), False, 0.0, []
        while not done:
            action = agent.act(state, eps)
            next_state, reward, done = env.step(action)
            agent.memory.append((state, action, reward, next_state))
            state = next_state
            total += reward
            steps += 1
            if len(agent.memory) >= 500:
                losses.append(agent.learn())
            if steps % 200 == 0:
                agent.sync()
        if ep % 10 == 9:
            print(f"episode {ep + 1:3d} eps {eps:.2f} return {total:6.2f} "
                  f"loss {np.mean(losses) if losses else float('nan'):.4f}")
    print("return after training %.2f" % evaluate(agent))


if __name__ == "__main__":
    main()
