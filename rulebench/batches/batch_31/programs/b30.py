"""Two-tower contrastive learning (InfoNCE) in JAX + flax.linen + optax.
View A and view B of an item are different noisy projections of the same latent; retrieval over 500 unseen items."""
import numpy as np
import jax
import jax.numpy as jnp
import flax.linen as nn
import optax

rng = np.random.default_rng(0)
LAT, DA, DB, N, BATCH, STEPS = 10, 40, 30, 4000, 128, 800
PA, PB = rng.normal(size=(LAT, DA)), rng.normal(size=(LAT, DB))
z = rng.normal(size=(N + 500, LAT))
a = np.tanh(z @ PA / 2) + 0.4 * rng.normal(size=(N + 500, DA))
b = np.sin(z @ PB / 2) + 0.4 * rng.normal(size=(N + 500, DB))
a, b = jnp.asarray(a, jnp.float32), jnp.asarray(b, jnp.float32)
a_tr, b_tr, a_te, b_te = a[:N], b[:N], a[N:], b[N:]


class Tower(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(128)(x))
        x = nn.Dense(32)(x)
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


tower = Tower()
key = jax.random.PRNGKey(0)
ka, kb = jax.random.split(key)
params = {"a": tower.init(ka, a_tr[:1]), "b": tower.init(kb, b_tr[:1])}
tx = optax.adam(optax.cosine_decay_schedule(2e-3, STEPS))
opt_state = tx.init(params)


def info_nce(params, xa, xb):
    s = tower.apply(params["a"], xa) @ tower.apply(params["b"], xb).T / 0.1
    lab = jnp.arange(len(xa))
    ce = optax.softmax_cross_entropy_with_integer_labels
    return 0.5 * (ce(s, lab).mean() + ce(s.T, lab).mean())


@jax.jit
def train_step(params, opt_state, key):
    k_idx, k_noise = jax.random.split(key)
    idx = jax.random.choice(k_idx, N, (BATCH,), replace=False)
    xa = a_tr[idx] + 0.1 * jax.random.normal(k_noise, (BATCH, DA))     # light augmentation
    loss, grads = jax.value_and_grad(info_nce)(params, xa, b_tr[idx])
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


train_key = jax.random.PRNGKey(42)
for step in range(1, STEPS + 1):
    params, opt_state, loss = train_step(params, opt_state, train_key)
    if step % 100 == 0:
        print(f"step {step:4d} loss {float(loss):.4f}")

s = tower.apply(params["a"], a_te) @ tower.apply(params["b"], b_te).T
top1 = float(jnp.mean(jnp.argmax(s, 1) == jnp.arange(500)))
top5 = float(jnp.mean((jnp.argsort(-s, 1)[:, :5] == jnp.arange(500)[:, None]).any(1)))
print(f"retrieval among 500 unseen items: top-1 {top1:.3f}, top-5 {top5:.3f}")
