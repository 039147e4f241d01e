import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import torch
import keras
from keras import layers


class GridWorld:
    """Many 5x5 grids in parallel; reach the corner, -0.05 per step, +1 at the goal."""

    moves = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, n, size=5, seed=0):
        self.n, self.size = n, size
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = self.rng.integers(0, self.size - 1, (self.n, 2))
        return self.obs()

    def obs(self):
        return np.eye(self.size ** 2, dtype="float32")[self.pos[:, 0] * self.size + self.pos[:, 1]]

    def step(self, a):
        self.pos = np.clip(self.pos + self.moves[a], 0, self.size - 1)
        done = (self.pos == self.size - 1).all(1)
        return self.obs(), np.where(done, 1.0, -0.05), done


def rollout(policy, env, horizon):
    s = env.reset()
    alive = np.ones(env.n, bool)
    S, A, R, M = [], [], [], []
    for _ in range(horizon):
        with torch.no_grad():
            p = torch.softmax(policy(s), dim=-1)
        a = torch.multinomial(p, 1)[:, 0].numpy()
        s2, r, done = env.step(a)
        S.append(s); A.append(a); R.append(r * alive); M.append(alive.copy())
        alive = alive & ~done
        s = s2
    return map(np.array, (S, A, R, M))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=120)
    p.add_argument("--envs", type=int, default=64)
    p.add_argument("--horizon", type=int, default=20)
    p.add_argument("--gamma", type=float, default=0.97)
    p.add_argument("--entropy", type=float, default=0.01)
    args = p.parse_args()
    keras.utils.set_random_seed(1)

    policy = keras.Sequential([layers.Input((25,)), layers.Dense(32, activation="tanh"), layers.Dense(4)])
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(policy.trainable_weights)
    env = GridWorld(args.envs)

    for it in range(args.updates):
        S, A, R, M = rollout(policy, env, args.horizon)
        G = np.zeros_like(R)
        acc = np.zeros(args.envs)
        for t in reversed(range(args.horizon)):
            acc = R[t] + args.gamma * acc
            G[t] = acc
        adv = (G - G[M].mean()) / (G[M].std() + 1e-8)
        mask = M.reshape(-1)
        s = S.reshape(-1, 25)[mask]
        a = torch.as_tensor(A.reshape(-1)[mask])
        adv = torch.as_tensor(adv.reshape(-1)[mask], dtype=torch.float32)

        policy.zero_grad()
        logp = torch.log_softmax(policy(s), dim=-1)
        chosen = logp.gather(1, a[:, None])[:, 0]
        entropy = -(logp.exp() * logp).sum(1).mean()
        loss = -(chosen * adv).mean() - args.entropy * entropy
        loss.backward()
        with torch.no_grad():
            optimizer.apply([w.value.grad for w in policy.trainable_weights], policy.trainable_weights)
        if it % 20 == 0 or it == args.updates - 1:
            print(f"update {it} loss {loss.item():.4f} return {R.sum(0).mean():.3f} "
                  f"steps {M.sum(0).mean():.1f} entropy {entropy.item():.3f}")


if __name__ == "__main__":
    main()
