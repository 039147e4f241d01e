"""DQN in plain JAX: stay on a swaying deck."""
import jax
import jax.numpy as jnp
import numpy as np
import optax

N_STATES = 11
START = 5
GAMMA = 0.95
BUFFER = 4000
BATCH = 64
STEPS = 4000


class Deck:
    """A walker on a swaying deck: every step on board pays 1, both ends are open."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = START
        self.t = 0
        return self.obs()

    def obs(self):
        x = 2.0 * self.pos / (N_STATES - 1) - 1.0
        return np.array([x, x * x, np.sin(np.pi * x)], np.float32)

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        if self.rng.random() < 0.4:
            self.pos += int(self.rng.choice([-1, 1, 1]))
        self.t += 1
        done = self.pos <= 0 or self.pos >= N_STATES - 1
        self.pos = int(np.clip(self.pos, 0, N_STATES - 1))
        return self.obs(), 1.0, done, self.t >= 80


def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (a, b)) * np.sqrt(2.0 / a), jnp.zeros(b))
            for k, a, b in zip(keys, sizes[:-1], sizes[1:])]


def q_values(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


params = init(jax.random.PRNGKey(0), [3, 64, 64, 2])
target_params = params
tx = optax.adam(1e-3)
opt_state = tx.init(params)


@jax.jit
def update(params, target_params, opt_state, batch):
    obs, act, rew, nxt, done = batch

    def loss_fn(p):
        q = jnp.take_along_axis(q_values(p, obs), act[:, None], 1)[:, 0]
        next_q = q_values(target_params, nxt).max(1)
        target = rew + GAMMA * next_q
        return optax.huber_loss(q, jax.lax.stop_gradient(target), delta=1.0).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


act_fn = jax.jit(lambda p, o: q_values(p, o).argmax())

env, rng = Deck(0), np.random.default_rng(0)
memory, losses, returns = [], [], []
obs, ep_return = env.reset(), 0.0
for step in range(1, STEPS + 1):
    eps = max(0.1, 1.0 - step / 2000)
    action = int(rng.integers(2)) if rng.random() < eps else int(act_fn(params, obs))
    nxt, reward, done, cut = env.step(action)
    memory.append((obs, action, reward, nxt, float(done)))
    memory = memory[-BUFFER:]
    ep_return += reward
    obs = nxt
    if done or cut:
        returns.append(ep_return)
        obs, ep_return = env.reset(), 0.0
    if step > 200:
        ix = rng.integers(0, len(memory), BATCH)
        batch = tuple(np.asarray(c) for c in zip(*[memory[i] for i in ix]))
        params, opt_state, loss = update(params, target_params, opt_state, batch)
        losses.append(float(loss))
    if step % 100 == 0:
        target_params = params
    if step % 500 == 0:
        q0 = float(q_values(params, env.obs()).max())
        print(f"step {step:5d}  loss {np.mean(losses[-200:]) if losses else 0:.4f}  "
              f"return {np.mean(returns[-20:]):.2f}  max q {q0:.2f}")

totals, kept = [], 0
test_env = Deck(99)
for _ in range(100):
    obs, total, over = test_env.reset(), 0.0, False
    while not over:
        obs, r, done, cut = test_env.step(int(act_fn(params, obs)))
        total += r
        over = done or cut
    totals.append(total)
    kept += cut and not done
start_obs = test_env.reset()
print(f"greedy return {np.mean(totals):.2f}, on board at the end {kept}/100")
print("q at start:", np.round(np.asarray(q_values(params, start_obs)), 2).tolist())
