import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler


class MLP(nn.Module):
    hidden: int
    n_out: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(self.hidden)(x))
        x = nn.relu(nn.Dense(self.hidden)(x))
        return nn.Dense(self.n_out)(x)


def make_optimizer(total_steps, peak=2e-3):
    schedule = optax.warmup_cosine_decay_schedule(
        init_value=0.0, peak_value=peak, warmup_steps=20, decay_steps=total_steps
    )
    return optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(),
        optax.add_decayed_weights(1e-4),
        optax.scale_by_schedule(schedule),
    )


def main():
    X, y = load_wine(return_X_y=True)
    x_tr, x_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=1)
    scaler = StandardScaler().fit(x_tr)
    x_tr, x_te = scaler.transform(x_tr).astype("float32"), scaler.transform(x_te).astype("float32")

    rng = np.random.default_rng(0)
    model = MLP(hidden=32, n_out=3)
    params = model.init(jax.random.PRNGKey(0), x_tr[:1])
    epochs, batch = 60, 31
    steps_per_epoch = len(x_tr) // batch
    tx = make_optimizer(epochs * steps_per_epoch)
    opt_state = tx.init(params)

    def loss_fn(p, xb, yb):
        logits = model.apply(p, xb)
        return optax.softmax_cross_entropy_with_integer_labels(logits, yb).mean()

    @jax.jit
    def step(p, s, xb, yb):
        loss, grads = jax.value_and_grad(loss_fn)(p, xb, yb)
        updates, s = tx.update(grads, s, p)
        return optax.apply_updates(p, updates), s, loss

    for epoch in range(epochs):
        perm = rng.permutation(len(x_tr))
        losses = []
        for i in range(steps_per_epoch):
            idx = perm[i * batch : (i + 1) * batch]
            params, opt_state, loss = step(params, opt_state, x_tr[idx], y_tr[idx])
            losses.append(float(loss))
        if epoch % 6 == 0 or epoch == epochs - 1:
            acc = jnp.mean(model.apply(params, x_te).argmax(-1) == y_te)
            print(f"epoch {epoch:2d}  loss {np.mean(losses):10.4f}  test acc {float(acc):.3f}")


if __name__ == "__main__":
    main()
