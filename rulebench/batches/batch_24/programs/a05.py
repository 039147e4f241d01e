"""Small MLP on spiral data, flax + optax."""
from dataclasses import dataclass
import time
import numpy as np
import jax
import jax.numpy as jnp
import flax.linen as nn
import optax


@dataclass
class Config:
    epochs: int = 20
    batch_size: int = 64
    peak_lr: float = 3e-3
    warmup: int = 200
    weight_decay: float = 1e-4
    seed: int = 0


cfg = Config()


def spirals(n, arms, rng):
    arm = rng.integers(0, arms, n)
    r = rng.uniform(0.1, 1.0, n)
    a = r * 7.0 + arm * 2 * np.pi / arms
    x = np.stack([r * np.cos(a), r * np.sin(a)], 1) + rng.normal(0, 0.02, (n, 2))
    return x.astype(np.float32), arm.astype(np.int32)


class MLP(nn.Module):
    arms: int

    @nn.compact
    def __call__(self, x):
        for width in (128, 128, 64):
            x = nn.gelu(nn.Dense(width)(x))
        return nn.Dense(self.arms)(x)


rng = np.random.default_rng(cfg.seed)
x_train, y_train = spirals(2000, 4, rng)
x_test, y_test = spirals(1000, 4, rng)
steps_per_epoch = len(x_train) // cfg.batch_size

model = MLP(4)
params = model.init(jax.random.PRNGKey(cfg.seed), x_train[:1])
schedule = optax.warmup_cosine_decay_schedule(
    init_value=0.0, peak_value=cfg.peak_lr, warmup_steps=cfg.warmup,
    decay_steps=cfg.epochs * steps_per_epoch, end_value=1e-5)
tx = optax.chain(optax.clip_by_global_norm(1.0),
                 optax.adamw(schedule, weight_decay=cfg.weight_decay))


@jax.jit
def train_step(params, opt_state, x, y):
    def loss_fn(p):
        logits = model.apply(p, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def accuracy(params, x, y):
    return jnp.mean(model.apply(params, x).argmax(-1) == y)


def run_epoch(params, rng):
    opt_state = tx.init(params)
    order = rng.permutation(len(x_train))
    losses = []
    for i in range(steps_per_epoch):
        idx = order[i * cfg.batch_size:(i + 1) * cfg.batch_size]
        params, opt_state, loss = train_step(params, opt_state, x_train[idx], y_train[idx])
        losses.append(loss)
    return params, float(jnp.stack(losses).mean())


start = time.time()
for epoch in range(cfg.epochs):
    params, loss = run_epoch(params, rng)
    if epoch % 4 == 3:
        acc = accuracy(params, x_test, y_test)
        print(f"epoch {epoch + 1:3d} loss {loss:.4f} test acc {float(acc):.3f}")
print(f"done in {time.time() - start:.1f}s")
print("final test accuracy", float(accuracy(params, x_test, y_test)))
