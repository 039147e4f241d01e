"""Q-learning with a target network on a slippery grid, vectorised environments in numpy."""
from dataclasses import dataclass
import numpy as np
import jax
import jax.numpy as jnp
import optax


@dataclass(frozen=True)
class Config:
    size: int = 7
    envs: int = 16
    gamma: float = 0.95
    lr: float = 1e-3
    steps: int = 2500
    batch: int = 128
    buffer: int = 20000
    sync: int = 100
    seed: int = 4


cfg = Config()
MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
GOAL = np.array([cfg.size - 1, cfg.size - 1])
ONE_HOT = np.eye(cfg.size ** 2, dtype=np.float32)
PIT = {(3, 3), (2, 4), (4, 2)}


class GridBatch:
    def __init__(self, n, rng):
        self.n, self.rng = n, rng
        self.pos = np.zeros((n, 2), int)
        self.t = np.zeros(n, int)

    def obs(self):
        return ONE_HOT[self.pos[:, 0] * cfg.size + self.pos[:, 1]]

    def step(self, a):
        slip = self.rng.random(self.n) < 0.1
        a = np.where(slip, self.rng.integers(0, 4, self.n), a)
        self.pos = np.clip(self.pos + MOVES[a], 0, cfg.size - 1)
        self.t += 1
        goal = (self.pos == GOAL).all(1)
        pit = np.array([tuple(p) in PIT for p in self.pos])
        reward = goal * 1.0 - pit * 1.0 - 0.01
        terminal = goal | pit
        nxt = self.obs()
        reset = terminal | (self.t >= 60)
        self.pos[reset] = 0
        self.t[reset] = 0
        return nxt, reward.astype(np.float32), terminal.astype(np.float32), reset


def init(key, sizes=(cfg.size ** 2, 64, 64, 4)):
    out = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        out.append((jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / i), jnp.zeros(o)))
    return out


@jax.jit
def q_values(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


tx = optax.adam(cfg.lr)


@jax.jit
def learn(params, target, opt_state, s, a, r, d, s2):
    def loss_fn(p):
        best = q_values(p, s2).argmax(-1)
        nxt = jnp.take_along_axis(q_values(target, s2), best[:, None], 1)[:, 0]
        y = jax.lax.stop_gradient(r + cfg.gamma * (1 - d) * nxt)
        q = jnp.take_along_axis(q_values(p, s), a[:, None], 1)[:, 0]
        return optax.huber_loss(q, y).mean()
    loss, g = jax.value_and_grad(loss_fn)(params)
    up, opt_state = tx.update(g, opt_state)
    return optax.apply_updates(params, up), opt_state, loss


def evaluate(params, episodes=100):
    env = GridBatch(episodes, np.random.default_rng(1))
    alive, total = np.ones(episodes, bool), np.zeros(episodes)
    for _ in range(60):
        a = np.asarray(q_values(params, env.obs()).argmax(-1))
        _, r, _, reset = env.step(a)
        total += r * alive
        alive &= ~reset
    return total.mean()


rng = np.random.default_rng(cfg.seed)
params = init(jax.random.PRNGKey(cfg.seed))
target, opt_state = params, tx.init(params)
env = GridBatch(cfg.envs, rng)
S = np.zeros((cfg.buffer, cfg.size ** 2), np.float32)
S2 = np.zeros_like(S)
A, R, D = np.zeros(cfg.buffer, np.int32), np.zeros(cfg.buffer, np.float32), np.zeros(cfg.buffer, np.float32)
n = 0
print("return before", evaluate(params))
for step in range(1, cfg.steps + 1):
    eps = max(0.1, 1.0 - step / 1200)
    s = env.obs()
    a = np.asarray(q_values(params, s).argmax(-1))
    a = np.where(rng.random(cfg.envs) < eps, rng.integers(0, 4, cfg.envs), a)
    s2, r, d, _ = env.step(a)
    at = np.arange(n, n + cfg.envs) % cfg.buffer
    S[at], A[at], R[at], D[at], S2[at] = s, a, r, d, s2
    n += cfg.envs
    if step >= 50:
        i = rng.integers(0, min(n, cfg.buffer), cfg.batch)
        params, opt_state, loss = learn(params, target, opt_state, S[i], A[i], R[i], D[i], S2[i])
    if step % cfg.sync == 0:
        target = params
    if step % 250 == 0:
        print(f"step {step} eps {eps:.2f} loss {float(loss):.5f} greedy return {evaluate(params):.3f}")
