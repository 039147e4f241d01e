"""Flax classifier with batch norm state, dropout keys and a frozen embedding table."""
import argparse
from typing import Any
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state


class TrainState(train_state.TrainState):
    batch_stats: Any


class TokenNet(nn.Module):
    vocab: int
    classes: int

    @nn.compact
    def __call__(self, ids, train):
        e = nn.Embed(self.vocab, 32, name="table")(ids)
        h = e.mean(1)
        for w in (64, 32):
            h = nn.Dense(w)(h)
            h = nn.BatchNorm(use_running_average=not train, momentum=0.9)(h)
            h = nn.relu(h)
            h = nn.Dropout(0.2, deterministic=not train)(h)
        return nn.Dense(self.classes)(h)


def make(n, vocab, classes, seed):
    r = np.random.default_rng(seed)
    table = np.random.default_rng(0).dirichlet(np.full(vocab, 0.2), classes)
    y = r.integers(0, classes, n)
    return np.stack([r.choice(vocab, 20, p=table[c]) for c in y]), y


@jax.jit
def train_step(state, x, y, key):
    def loss_fn(p):
        out, mut = state.apply_fn({"params": p, "batch_stats": state.batch_stats}, x, True, rngs={"dropout": key}, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(out, y).mean(), mut
    (loss, mut), g = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=g, batch_stats=mut["batch_stats"]), loss


@jax.jit
def eval_step(state, x, y):
    out = state.apply_fn({"params": state.params, "batch_stats": state.batch_stats}, x, False)
    return jnp.mean(out.argmax(-1) == y)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    x, y = make(3000, 150, 8, 1)
    xv, yv = make(600, 150, 8, 2)
    model = TokenNet(150, 8)
    key = jax.random.PRNGKey(0)
    v = model.init({"params": key, "dropout": key}, x[:2], False)
    labels = {k: ("frozen" if k == "table" else "train") for k in v["params"]}
    tx = optax.multi_transform({"train": optax.adamw(args.lr, weight_decay=1e-3), "frozen": optax.set_to_zero()}, labels)
    state = TrainState.create(apply_fn=model.apply, params=v["params"], tx=tx, batch_stats=v["batch_stats"])
    rng = np.random.default_rng(0)
    for ep in range(args.epochs):
        perm, losses = rng.permutation(len(x)), []
        for i in range(0, len(x) - args.batch + 1, args.batch):
            key, sub = jax.random.split(key)
            idx = perm[i:i + args.batch]
            state, loss = train_step(state, x[idx], y[idx], sub)
            losses.append(float(loss))
        print(f"epoch {ep} loss {np.mean(losses):.4f} val acc {float(eval_step(state, xv, yv)):.4f}")


if __name__ == "__main__":
    main()
