# Concrete-strength style regression with a hand-rolled MLP in JAX.
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import make_friedman1

np.random.seed(0)
X, y = make_friedman1(n_samples=3000, n_features=8, noise=0.5, random_state=0)
X = (X - X[:2400].mean(0)) / X[:2400].std(0)
mu, sd = y[:2400].mean(), y[:2400].std()
y = (y - mu) / sd
X_train, y_train = jnp.asarray(X[:2400]), jnp.asarray(y[:2400])
X_test, y_test = jnp.asarray(X[2400:]), jnp.asarray(y[2400:])

SIZES = [8, 64, 64, 1]
BATCH = 64
STEPS = 1500


def init_mlp(key, sizes):
    layers = []
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        layers.append({
            "w": jax.random.normal(k, (fan_in, fan_out)) * jnp.sqrt(2.0 / fan_in),
            "b": jnp.zeros(fan_out),
        })
    return layers


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    last = params[-1]
    return (x @ last["w"] + last["b"])[:, 0]


def mse(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)


schedule = optax.warmup_cosine_decay_schedule(
    init_value=1e-6, peak_value=3e-3, warmup_steps=100, decay_steps=STEPS, end_value=1e-5)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-4))

params = init_mlp(jax.random.PRNGKey(0), SIZES)
opt_state = tx.init(params)


@jax.jit
def step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(mse)(params, x, y)
    updates, new_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, opt_state, loss


for i in range(STEPS):
    idx = np.random.randint(0, len(X_train), BATCH)
    params, opt_state, loss = step(params, opt_state, X_train[idx], y_train[idx])
    if i % 100 == 0:
        print(f"step {i:5d}  train mse {float(loss):.4f}  test mse {float(mse(params, X_test, y_test)):.4f}")

pred = forward(params, X_test)
rmse = float(jnp.sqrt(jnp.mean((pred - y_test) ** 2)) * sd)
r2 = 1 - float(jnp.sum((pred - y_test) ** 2) / jnp.sum((y_test - y_test.mean()) ** 2))
print(f"test RMSE {rmse:.3f}  R2 {r2:.3f}")
