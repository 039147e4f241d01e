# Heteroscedastic regression: the network predicts a mean and a log standard deviation.
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


class MeanStd(nnx.Module):
    def __init__(self, width, rngs):
        self.l1 = nnx.Linear(2, width, rngs=rngs)
        self.l2 = nnx.Linear(width, width, rngs=rngs)
        self.head = nnx.Linear(width, 2, rngs=rngs)

    def __call__(self, x):
        h = jnp.tanh(self.l1(x))
        h = jnp.tanh(self.l2(h))
        out = self.head(h)
        return out[:, 0], jnp.clip(out[:, 1], -6.0, 3.0)


def true_std(x):
    return 0.03 + 0.12 * (x[:, 0] > 0) + 0.05 * np.abs(x[:, 1])


def make(n, seed):
    r = np.random.default_rng(seed)
    x = r.uniform(-1, 1, (n, 2))
    y = 0.6 * np.sin(3 * x[:, 0]) * x[:, 1] + true_std(x) * r.standard_normal(n)
    return x.astype("float32"), y.astype("float32")


def gaussian_nll(model, x, y):
    mean, log_std = model(x)
    z = (y - mean) * jnp.exp(-log_std)
    return jnp.mean(0.5 * z ** 2 + log_std)


model = MeanStd(48, nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(optax.cosine_decay_schedule(4e-3, 2000)), wrt=nnx.Param)


@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(gaussian_nll)(model, x, y)
    optimizer.update(model, grads)
    return loss


x_train, y_train = make(4000, 1)
x_test, y_test = make(2000, 2)
r = np.random.default_rng(3)
recent = []
for it in range(1, 2001):
    idx = r.integers(0, len(x_train), 128)
    recent.append(train_step(model, optimizer, x_train[idx], y_train[idx]))
    if it % 200 == 0:
        print(f"iter {it:5d}  nll {float(jnp.mean(jnp.stack(recent))):.4f}  "
              f"test nll {float(gaussian_nll(model, x_test, y_test)):.4f}")
        recent = []

mean, log_std = model(x_test)
s = true_std(x_test)
best = np.mean(0.5 + np.log(s))
print("nll of the true distribution (in expectation):", round(float(best), 4))
print("correlation of predicted and true std:", np.corrcoef(np.exp(np.asarray(log_std)), s)[0, 1].round(3))
inside = np.abs(y_test - np.asarray(mean)) < 1.645 * np.exp(np.asarray(log_std))
print("90% interval coverage:", inside.mean().round(3))
