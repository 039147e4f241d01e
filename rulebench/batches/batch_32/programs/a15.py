import jax
import jax.numpy as jnp
import optax
import numpy as np
from sklearn.datasets import make_moons

# MLP from scratch in JAX, spiral/moons with nuisance dimensions
SEED = 15
key = jax.random.PRNGKey(SEED)
rng = np.random.default_rng(SEED)


def data(n, seed):
    x, y = make_moons(n, noise=0.15, random_state=seed)
    extra = np.random.default_rng(seed).normal(size=(n, 18))
    return jnp.asarray(np.concatenate([x, extra], 1), jnp.float32), jnp.asarray(y)


Xtr, Ytr = data(4000, SEED)
Xte, Yte = data(2000, SEED + 1)


def init(key, sizes):
    params = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        params.append((jax.random.normal(sub, (a, b)) * jnp.sqrt(2.0 / a), jnp.zeros(b)))
    return params


def forward(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


tx = optax.adam(1e-3)
k_init, k_data = jax.random.split(key)
params = init(k_init, [20, 128, 128, 2])
opt_state = tx.init(params)


@jax.jit
def train_step(params, opt_state, key):
    idx = jax.random.choice(key, Xtr.shape[0], (128,), replace=False)
    loss, grads = jax.value_and_grad(loss_fn)(params, Xtr[idx], Ytr[idx])
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def accuracy(params, x, y):
    return (forward(params, x).argmax(-1) == y).mean()


for step in range(3000):
    params, opt_state, loss = train_step(params, opt_state, k_data)
    if step % 300 == 0:
        print(f"step {step:4d} loss {loss:.5f}")

print("test accuracy: %.4f" % accuracy(params, Xte, Yte))
