# Low-rank matrix completion by full-batch gradient descent in JAX
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(12)
USERS, ITEMS, RANK = 120, 90, 4
U0 = rng.normal(size=(USERS, RANK)) / np.sqrt(RANK)
V0 = rng.normal(size=(ITEMS, RANK))
full = U0 @ V0.T
noisy = full + rng.normal(scale=0.1, size=full.shape)
observed = rng.random(full.shape) < 0.35
heldout = ~observed & (rng.random(full.shape) < 0.2)
print("observed entries", observed.sum(), "held out", heldout.sum())

ratings = jnp.asarray(noisy, jnp.float32)
mask = jnp.asarray(observed, jnp.float32)
test_mask = jnp.asarray(heldout, jnp.float32)

ku, kv = jax.random.split(jax.random.key(12))
params = {
    "u": 0.1 * jax.random.normal(ku, (USERS, RANK)),
    "v": 0.1 * jax.random.normal(kv, (ITEMS, RANK)),
}

LR = 25.0
tx = optax.sgd(optax.linear_schedule(LR, LR / 5, 1500), momentum=0.5)
opt_state = tx.init(params)


def masked_mse(params, m):
    err = (params["u"] @ params["v"].T - ratings) * m
    return jnp.sum(err**2) / jnp.sum(m)


def objective(params):
    reg = sum(jnp.sum(p**2) for p in jax.tree.leaves(params))
    return masked_mse(params, mask) + 2e-6 * reg


@jax.jit
def step(params, opt_state):
    loss, grads = jax.value_and_grad(objective)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


for i in range(1, 1501):
    params, opt_state, loss = step(params, opt_state)
    if i == 1 or i % 150 == 0:
        print(f"iter {i:5d} objective {float(loss):.5f} held-out rmse "
              f"{float(jnp.sqrt(masked_mse(params, test_mask))):.4f}")
baseline = float(jnp.sqrt(jnp.sum((ratings * test_mask) ** 2) / test_mask.sum()))
print(f"rmse of predicting zero {baseline:.4f}, noise level 0.1")
