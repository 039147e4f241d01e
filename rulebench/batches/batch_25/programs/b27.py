"""DP-SGD (per-example clipping + Gaussian noise) for breast cancer with flax.linen and optax."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

SEED = 77
CLIP, NOISE, BATCH, STEPS = 1.0, 0.8, 96, 600


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(16)(x))
        return nn.Dense(1)(x)[..., 0]


x, y = load_breast_cancer(return_X_y=True)
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.3, random_state=1, stratify=y)
# public ranges, no private statistics used
lo, hi = x.min(0), x.max(0)
x_tr, x_te = [jnp.asarray(4 * (a - lo) / (hi - lo) - 1, jnp.float32) for a in (x_tr, x_te)]
y_tr, y_te = jnp.asarray(y_tr, jnp.float32), np.asarray(y_te)

net = Net()
key = jax.random.PRNGKey(SEED)
key, sub = jax.random.split(key)
params = net.init(sub, x_tr[:1])
tx = optax.sgd(0.25)
state = tx.init(params)


def example_loss(p, xi, yi):
    return optax.sigmoid_binary_cross_entropy(net.apply(p, xi[None]), yi[None])[0]


@jax.jit
def step(p, state, xb, yb, key):
    losses, grads = jax.vmap(jax.value_and_grad(example_loss), in_axes=(None, 0, 0))(p, xb, yb)
    norms = jnp.sqrt(sum(jnp.sum(g.reshape(g.shape[0], -1) ** 2, 1) for g in jax.tree_util.tree_leaves(grads)))
    factor = jnp.minimum(1.0, CLIP / (norms + 1e-9))
    leaves, treedef = jax.tree_util.tree_flatten(grads)
    keys = jax.random.split(key, len(leaves))
    leaves = [(jnp.einsum("b,b...->...", factor, g) + NOISE * CLIP * jax.random.normal(k, g.shape[1:])) / BATCH
              for g, k in zip(leaves, keys)]
    updates, state = tx.update(jax.tree_util.tree_unflatten(treedef, leaves), state, p)
    return optax.apply_updates(p, updates), state, losses.mean()


rng = np.random.default_rng(SEED)
for i in range(STEPS):
    idx = rng.choice(len(x_tr), BATCH, replace=False)
    key, sub = jax.random.split(key)
    params, state, loss = step(params, state, x_tr[idx], y_tr[idx], sub)
    if i % 100 == 0:
        print("step", i, "loss", round(float(loss), 4))

pred = np.asarray(net.apply(params, x_te)) > 0
print("test accuracy", (pred == y_te).mean())
