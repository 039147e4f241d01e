"""DQN on a small continuous corridor (reach the right door)."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import random
from collections import deque
import numpy as np
import keras
from keras import layers


class Corridor:
    """state: [position, velocity]; actions: push left, nothing, push right"""
    def __init__(self, rng, max_steps=60):
        self.rng = rng
        self.max_steps = max_steps
        self.state = np.zeros(2, "float32")

    def reset(self):
        self.t = 0
        self.state = np.array([self.rng.uniform(-0.5, 0.5), 0.0], "float32")
        return self.state

    def step(self, a):
        self.t += 1
        self.state[1] = np.clip(0.9 * self.state[1] + 0.05 * (a - 1), -0.2, 0.2)
        self.state[0] += self.state[1]
        reward, done = -0.02, False
        if self.state[0] >= 1.0:
            reward, done = 1.0, True
        elif self.state[0] <= -1.0:
            reward, done = -1.0, True
        return self.state, reward, done, self.t >= self.max_steps


class Agent:
    def __init__(self, gamma, lr):
        self.gamma = gamma
        self.q = self._net()
        self.target = self._net()
        self.sync()
        self.q.compile(keras.optimizers.Adam(lr), loss="huber")
        self.memory = deque(maxlen=5000)

    def _net(self):
        return keras.Sequential([keras.Input((2,)), layers.Rescaling(2.0),
                                 layers.Dense(32, activation="relu"),
                                 layers.Dense(32, activation="relu"), layers.Dense(3)])

    def sync(self):
        self.target.set_weights(self.q.get_weights())

    def values(self, net, s):
        return np.array(net(s))

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(3)
        # plain numpy forward pass, much quicker for one state
        h = s * 2.0
        w = self.weights
        h = np.maximum(h @ w[0] + w[1], 0)
        h = np.maximum(h @ w[2] + w[3], 0)
        return int(np.argmax(h @ w[4] + w[5]))

    def refresh(self):
        self.weights = self.q.get_weights()

    def learn(self, batch_size):
        batch = random.sample(self.memory, batch_size)
        s, a, r, s2, done = map(np.array, zip(*batch))
        nxt = self.values(self.target, s2).max(1)
        y = self.values(self.q, s).copy()
        y[np.arange(batch_size), a] = r + self.gamma * nxt * (1.0 - done)
        return float(self.q.train_on_batch(s, y))


def evaluate(agent, env, n=40):
    wins, total = 0, 0.0
    for _ in range(n):
        s, done, stop = env.reset(), False, False
        while not (done or stop):
            s, r, done, stop = env.step(agent.act(s, 0.02))
            total += r
        wins += r > 0.5
    return wins / n, total / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--episodes", type=int, default=120)
    p.add_argument("--gamma", type=float, default=0.97)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    keras.utils.set_random_seed(args.seed)
    random.seed(args.seed)
    env = Corridor(np.random.default_rng(args.seed))
    agent = Agent(args.gamma, args.lr)
    agent.refresh()
    steps, losses = 0, []
    for ep in range(args.episodes):
        eps = max(0.05, 1.0 - ep / (0.6 * args.episodes))
        s, done, stop, ret = env.reset(), False, False, 0.0
        while not (done or stop):
            a = agent.act(s, eps)
            s2, r, done, stop = env.step(a)
            agent.memory.append((s, a, r, s2, float(done)))
            s, ret = s2, ret + r
            steps += 1
            if len(agent.memory) >= 200 and steps % 2 == 0:
                losses.append(agent.learn(64))
                agent.refresh()
            if steps % 200 == 0:
                agent.sync()
        if ep % 15 == 0:
            print(f"episode {ep:3d} eps {eps:.2f} return {ret:.2f} loss {np.mean(losses[-50:]) if losses else float('nan'):.4f}")
    print("success rate %.2f  mean return %.2f" % evaluate(agent, env))


if __name__ == "__main__":
    main()
