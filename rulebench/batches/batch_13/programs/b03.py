import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import make_moons

X, y = make_moons(1000, noise=0.15, random_state=0)
Xtr, ytr, Xte, yte = X[:800], y[:800], X[800:], y[800:]


def init(key, sizes):
    params = []
    for k, m, n in zip(jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:]):
        params.append({"w": jax.random.normal(k, (m, n)) * jnp.sqrt(2 / m), "b": jnp.zeros(n)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return (x @ params[-1]["w"] + params[-1]["b"]).squeeze(-1)


def loss_fn(params, x, y):
    return optax.sigmoid_binary_cross_entropy(forward(params, x), y).mean()


params = init(jax.random.PRNGKey(0), [2, 32, 32, 1])
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, warmup_steps=50, decay_steps=1000)
optimizer = optax.adam(schedule)
opt_state = optimizer.init(params)


@jax.jit
def train_step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, new_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


rng = np.random.default_rng(0)
for step in range(1000):
    i = rng.integers(0, len(Xtr), 64)
    params, opt_state, loss = train_step(params, opt_state, Xtr[i], ytr[i])
    if step % 100 == 0:
        acc = ((forward(params, Xte) > 0) == yte).mean()
        print(f"step {step} loss {loss:.4f} test acc {acc:.3f}")
acc = ((forward(params, Xte) > 0) == yte).mean()
print(f"final test acc {acc:.3f}")
