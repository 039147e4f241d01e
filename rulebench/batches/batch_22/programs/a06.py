"""DQN on a small wind-blown grid, plain JAX. 64 environments are stepped at once."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE, GAMMA, N_ENV = 5, 0.95, 64
GOAL = np.array([4, 4])
PIT = np.array([2, 2])
MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])


class Grid:
    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        self.n = n
        self.pos = np.zeros((n, 2), int)
        self.t = np.zeros(n, int)

    def obs(self):
        o = np.zeros((self.n, 2 * SIZE), np.float32)
        o[np.arange(self.n), self.pos[:, 0]] = 1
        o[np.arange(self.n), SIZE + self.pos[:, 1]] = 1
        return o

    def step(self, action):
        slip = self.rng.random(self.n) < 0.1
        action = np.where(slip, self.rng.integers(0, 4, self.n), action)
        self.pos = np.clip(self.pos + MOVES[action], 0, SIZE - 1)
        self.t += 1
        goal = (self.pos == GOAL).all(1)
        pit = (self.pos == PIT).all(1)
        reward = np.where(goal, 1.0, np.where(pit, -1.0, -0.02)).astype(np.float32)
        terminal = goal | pit
        next_obs = self.obs()
        reset = terminal | (self.t >= 40)
        self.pos[reset] = 0
        self.t[reset] = 0
        return next_obs, reward, terminal, reset


class QNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(64)(x))
        x = nn.relu(nn.Dense(64)(x))
        return nn.Dense(4)(x)


net = QNet()
params = net.init(jax.random.PRNGKey(0), jnp.zeros((1, 2 * SIZE)))
target = params
tx = optax.adam(1e-3)
opt_state = tx.init(params)


@jax.jit
def update(params, target, opt_state, batch):
    s, a, r, s2, term = batch
    next_q = net.apply(target, s2).max(-1)
    y = jax.lax.stop_gradient(r + GAMMA * (1.0 - term) * next_q)

    def loss_fn(p):
        q = jnp.take_along_axis(net.apply(p, s), a[:, None], 1)[:, 0]
        return optax.huber_loss(q, y).mean()

    loss, g = jax.value_and_grad(loss_fn)(params)
    upd, opt_state = tx.update(g, opt_state)
    return optax.apply_updates(params, upd), opt_state, loss


q_values = jax.jit(net.apply)
env = Grid(N_ENV, 1)
rng = np.random.default_rng(2)
CAP = 20000
buf = [np.zeros((CAP, 2 * SIZE), np.float32), np.zeros(CAP, np.int32), np.zeros(CAP, np.float32),
       np.zeros((CAP, 2 * SIZE), np.float32), np.zeros(CAP, np.float32)]
ptr = filled = 0
obs = env.obs()
ep_return, finished, losses = np.zeros(N_ENV), [], []
for it in range(3000):
    eps = max(0.05, 1.0 - it / 1500)
    greedy = np.asarray(q_values(params, obs)).argmax(1)
    action = np.where(rng.random(N_ENV) < eps, rng.integers(0, 4, N_ENV), greedy)
    next_obs, r, term, reset = env.step(action)
    where = np.arange(ptr, ptr + N_ENV) % CAP
    for store, v in zip(buf, (obs, action, r, next_obs, term)):
        store[where] = v
    ptr, filled = (ptr + N_ENV) % CAP, min(filled + N_ENV, CAP)
    ep_return += r
    finished.extend(ep_return[reset])
    ep_return[reset] = 0
    obs = env.obs()
    if it >= 20:
        idx = rng.integers(0, filled, 128)
        params, opt_state, loss = update(params, target, opt_state, [b[idx] for b in buf])
        losses.append(float(loss))
    if it % 200 == 0:
        target = params
    if it % 300 == 299:
        print(f"iter {it + 1}  eps {eps:.2f}  return {np.mean(finished[-300:]):.3f}  td loss {np.mean(losses[-300:]):.5f}")
