import jax, jax.numpy as jnp, optax
import numpy as np

# regression of a bumpy 2-d function with a MLP, minibatches with jax.random
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (2000, 2)).astype(np.float32)
Y = (np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.05 * rng.normal(size=2000)).astype(np.float32)
Xte, Yte = X[1500:], Y[1500:]
X, Y = jnp.array(X[:1500]), jnp.array(Y[:1500])

def init(key, sizes):
    params = []
    for k, i, o in zip(jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:]):
        params.append((jax.random.normal(k, (i, o)) * jnp.sqrt(2.0 / i), jnp.zeros(o)))
    return params

def mlp(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return (x @ w + b)[:, 0]

def loss_fn(params, x, y):
    return jnp.mean((mlp(params, x) - y) ** 2)

opt = optax.adam(5e-3)

@jax.jit
def step(params, state, x, y):
    loss, g = jax.value_and_grad(loss_fn)(params, x, y)
    up, state = opt.update(g, state)
    return optax.apply_updates(params, up), state, loss

key = jax.random.PRNGKey(42)
params = init(key, [2, 64, 64, 1])
state = opt.init(params)
for it in range(3000):
    idx = jax.random.randint(key, (64,), 0, X.shape[0])
    params, state, loss = step(params, state, X[idx], Y[idx])
    if it % 300 == 299:
        print(f"step {it+1} batch loss {loss:.5f} test mse {loss_fn(params, Xte, Yte):.5f}")
