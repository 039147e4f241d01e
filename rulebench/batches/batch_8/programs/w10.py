import jax
import jax.numpy as jnp
import numpy as np
import optax

# MLP in plain JAX for the two-spirals problem
rng = np.random.default_rng(18)
n = 1000
t = np.sqrt(rng.random(n)) * 3 * np.pi + 0.5
lab = rng.integers(0, 2, n)
X = np.stack([t * np.cos(t + np.pi * lab), t * np.sin(t + np.pi * lab)], 1) / 10 + rng.normal(0, 0.02, (n, 2))
X, y = jnp.asarray(X, jnp.float32), jnp.asarray(lab)


def init(key, sizes):
    params = []
    for k, (a, b) in zip(jax.random.split(key, len(sizes) - 1), zip(sizes[:-1], sizes[1:])):
        params.append((jax.random.normal(k, (a, b)) * jnp.sqrt(2.0 / a), jnp.zeros(b)))
    return params


def forward(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


schedule = optax.exponential_decay(init_value=5e-3, transition_steps=1, decay_rate=0.9)
tx = optax.adam(schedule)
params = init(jax.random.PRNGKey(0), [2, 64, 64, 2])
state = tx.init(params)


@jax.jit
def step(params, state, x, y):
    loss, g = jax.value_and_grad(loss_fn)(params, x, y)
    up, state = tx.update(g, state, params)
    return optax.apply_updates(params, up), state, loss


for epoch in range(100):
    perm = rng.permutation(n)
    for i in range(0, n, 50):
        b = perm[i:i + 50]
        params, state, loss = step(params, state, X[b], y[b])
    if epoch % 10 == 9:
        acc = (forward(params, X).argmax(1) == y).mean()
        print(f"epoch {epoch + 1} loss {float(loss):.4f} train acc {float(acc):.3f}")
