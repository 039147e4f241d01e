"""Temperature forecasting with a GRU, written in flax/optax."""
import numpy as np
import jax
import jax.numpy as jnp
import flax.linen as nn
import optax

SEED = 3
WINDOW = 36
HORIZON = 6
BATCH = 64
STEPS = 600


def make_series(n, rng):
    t = np.arange(n)
    daily = 4 * np.sin(2 * np.pi * t / 24)
    weather = np.zeros(n)
    for i in range(1, n):
        weather[i] = 0.97 * weather[i - 1] + rng.normal(0, 0.4)
    return (12 + daily + weather + rng.normal(0, 0.2, n)).astype(np.float32)


def cut(series):
    n = len(series) - WINDOW - HORIZON
    x = np.stack([series[i:i + WINDOW] for i in range(n)])[..., None]
    y = np.stack([series[i + WINDOW:i + WINDOW + HORIZON] for i in range(n)])
    return x, y


class Forecaster(nn.Module):
    hidden: int = 32

    @nn.compact
    def __call__(self, x):
        h = nn.RNN(nn.GRUCell(self.hidden))(x)
        return x[:, -1, :] + nn.Dense(HORIZON)(h[:, -1])


rng = np.random.default_rng(SEED)
series = make_series(4000, rng)
mean, std = series[:3000].mean(), series[:3000].std()
scaled = (series - mean) / std
x_train, y_train = cut(scaled[:3000])
x_test, y_test = cut(scaled[3000:])

model = Forecaster()
params = model.init(jax.random.PRNGKey(SEED), x_train[:2])

lr = optax.cosine_decay_schedule(init_value=3e-3, decay_steps=STEPS, alpha=0.05)
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.scale_by_adam(),
    optax.scale_by_schedule(lr),
)
state = tx.init(params)


def mse(params, x, y):
    return jnp.mean((model.apply(params, x) - y) ** 2)


@jax.jit
def update(params, state, x, y):
    loss, grads = jax.value_and_grad(mse)(params, x, y)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)
    return params, state, loss


evaluate = jax.jit(mse)
losses = []
for step in range(1, STEPS + 1):
    idx = rng.integers(0, len(x_train), BATCH)
    params, state, loss = update(params, state, x_train[idx], y_train[idx])
    losses.append(float(loss))
    if step % 60 == 0:
        print(f"step {step:4d}  train mse {np.mean(losses[-60:]):.4f}  "
              f"test mse {float(evaluate(params, x_test, y_test)):.4f}")

test = float(evaluate(params, x_test, y_test))
persist = float(np.mean((x_test[:, -1, :] - y_test) ** 2))
print(f"final test rmse {np.sqrt(test) * std:.3f} deg, persistence {np.sqrt(persist) * std:.3f} deg")
