"""Digit classifier in flax.linen with batch normalisation."""
from typing import Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class BNMLP(nn.Module):
    widths: Sequence[int]
    n_out: int

    @nn.compact
    def __call__(self, x, train: bool):
        for w in self.widths:
            x = nn.Dense(w, use_bias=False)(x)
            x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
            x = nn.relu(x)
        return nn.Dense(self.n_out)(x)


def batches(x, y, size, rng):
    order = rng.permutation(len(x))
    for i in range(0, len(x) - size + 1, size):
        idx = order[i:i + size]
        yield x[idx], y[idx]


def main(seed=1, epochs=15, batch_size=64, lr=2e-3):
    x, y = load_digits(return_X_y=True)
    x = x.astype(np.float32)
    x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.2, random_state=seed, stratify=y)

    model = BNMLP(widths=(64, 64), n_out=10)
    variables = model.init(jax.random.PRNGKey(seed), jnp.zeros((1, 64)), train=False)
    params, batch_stats = variables["params"], variables["batch_stats"]
    tx = optax.adam(lr)
    opt_state = tx.init(params)

    @jax.jit
    def train_step(params, batch_stats, opt_state, xb, yb):
        def loss_fn(p):
            logits, new_state = model.apply(
                {"params": p, "batch_stats": batch_stats}, xb, train=True, mutable=["batch_stats"]
            )
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, yb).mean()
            return loss, (logits, new_state)

        (loss, (logits, new_state)), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        acc = (logits.argmax(-1) == yb).mean()
        return params, batch_stats, opt_state, loss, acc

    @jax.jit
    def predict(params, batch_stats, xb):
        return model.apply({"params": params, "batch_stats": batch_stats}, xb, train=False).argmax(-1)

    rng = np.random.default_rng(seed)
    for epoch in range(epochs):
        losses, accs = [], []
        for xb, yb in batches(x_tr, y_tr, batch_size, rng):
            params, batch_stats, opt_state, loss, acc = train_step(params, batch_stats, opt_state, xb, yb)
            losses.append(float(loss))
            accs.append(float(acc))
        print(f"epoch {epoch + 1:2d}  loss {np.mean(losses):.4f}  acc {np.mean(accs):.4f}")

    test_acc = (np.asarray(predict(params, batch_stats, x_te)) == y_te).mean()
    print(f"test accuracy {test_acc:.4f}")


if __name__ == "__main__":
    main()
