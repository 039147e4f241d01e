import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

SEED = 59
LENGTH = 20
HIDDEN = 32


class SequenceRegressor(nn.Module):
    """A GRU reads (value, marker) pairs; the target is the sum of the two marked values."""

    @nn.compact
    def __call__(self, x):
        h = nn.RNN(nn.GRUCell(features=HIDDEN))(x)
        return nn.Dense(1)(h[:, -1]).squeeze(-1)


def adding_problem(rng, n):
    values = rng.uniform(0, 1, (n, LENGTH))
    markers = np.zeros((n, LENGTH))
    for row in markers:
        row[rng.choice(LENGTH, 2, replace=False)] = 1.0
    target = (values * markers).sum(1)
    return np.stack([values, markers], -1).astype("float32"), target.astype("float32")


rng = np.random.default_rng(SEED)
x_test, y_test = adding_problem(rng, 1000)
model = SequenceRegressor()
params = model.init(jax.random.PRNGKey(SEED), x_test[:1])
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 50, 1500, 1e-4)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))
opt_state = tx.init(params)


@jax.jit
def step(params, opt_state, x, y):
    def loss_fn(p):
        return jnp.mean((model.apply(p, x) - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


mse = jax.jit(lambda p, x, y: jnp.mean((model.apply(p, x) - y) ** 2))
print("always the mean:", y_test.var().round(4))

losses = []
for i in range(1, 1501):
    x, y = adding_problem(rng, 64)
    params, opt_state, loss = step(params, opt_state, x, y)
    losses.append(float(loss))
    if i % 250 == 0:
        print(f"step {i}  loss {np.mean(losses[-50:]):.5f}  test mse {float(mse(params, x_test, y_test)):.5f}")

prediction = np.asarray(model.apply(params, x_test[:5]))
for p, t in zip(prediction, y_test[:5]):
    print(f"predicted {p:.3f}  true {t:.3f}")
