"""Sine-mixture regression with a hand-written MLP, JAX + optax."""
import jax
import jax.numpy as jnp
import numpy as np
import optax

SEED = 0
HIDDEN = [64, 64]
STEPS = 1500
BATCH = 128


def init_mlp(key, sizes):
    params = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        w = jax.random.normal(sub, (n_in, n_out)) * jnp.sqrt(2.0 / n_in)
        params.append({"w": w, "b": jnp.zeros(n_out)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    last = params[-1]
    return (x @ last["w"] + last["b"])[:, 0]


def make_data(rng, n):
    x = rng.uniform(-2, 2, size=(n, 2)).astype(np.float32)
    y = np.sin(2 * x[:, 0]) * np.cos(x[:, 1]) + 0.3 * x[:, 1]
    y = y + rng.normal(scale=0.05, size=n)
    return x, y.astype(np.float32)


rng = np.random.default_rng(SEED)
x_train, y_train = make_data(rng, 4000)
x_test, y_test = make_data(rng, 1000)

schedule = optax.warmup_cosine_decay_schedule(
    init_value=0.0, peak_value=3e-3, warmup_steps=100, decay_steps=STEPS
)
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.scale_by_adam(b1=0.9, b2=0.99),
    optax.add_decayed_weights(1e-4),
    optax.scale_by_schedule(schedule),
)

params = init_mlp(jax.random.key(SEED), [2] + HIDDEN + [1])
opt_state = tx.init(params)


def loss_fn(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)


@jax.jit
def step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


for i in range(STEPS):
    idx = rng.integers(0, len(x_train), BATCH)
    params, opt_state, loss = step(params, opt_state, x_train[idx], y_train[idx])
    if i % 150 == 0 or i == STEPS - 1:
        print(f"step {i:5d}  train mse {float(loss):.5f}  lr {float(schedule(i)):.2e}")

mse = float(loss_fn(params, x_test, y_test))
print(f"test mse {mse:.5f}   target variance {y_test.var():.5f}")
