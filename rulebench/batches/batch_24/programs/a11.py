"""Semi-supervised node classification, two-layer GCN."""
import argparse
import numpy as np
import jax
import jax.numpy as jnp
import flax.linen as nn
import optax


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--nodes", type=int, default=600)
    p.add_argument("--classes", type=int, default=5)
    p.add_argument("--labels-per-class", type=int, default=12)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--wd", type=float, default=5e-4)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def make_graph(n, k, rng):
    y = rng.integers(0, k, n)
    same = y[:, None] == y[None, :]
    prob = np.where(same, 0.05, 0.006)
    upper = np.triu(rng.random((n, n)) < prob, 1)
    adj = (upper | upper.T).astype(np.float32)
    proto = rng.normal(0, 1, (k, 24))
    x = proto[y] * 0.5 + rng.normal(0, 1.2, (n, 24))
    return adj, x.astype(np.float32), y.astype(np.int32)


def normalise(adj):
    a = adj + np.eye(len(adj), dtype=np.float32)
    d = 1.0 / np.sqrt(a.sum(1))
    return jnp.asarray(a * d[:, None] * d[None, :])


class GCN(nn.Module):
    hidden: int
    classes: int

    @nn.compact
    def __call__(self, a, x, train: bool):
        x = nn.Dropout(0.3, deterministic=not train)(x)
        x = nn.relu(a @ nn.Dense(self.hidden)(x))
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return a @ nn.Dense(self.classes)(x)


def main():
    args = get_args()
    rng = np.random.default_rng(args.seed)
    adj, x, y = make_graph(args.nodes, args.classes, rng)
    a = normalise(adj)

    train_idx = np.concatenate([rng.permutation(np.where(y == c)[0])[:args.labels_per_class]
                                for c in range(args.classes)])
    rest = rng.permutation(np.setdiff1d(np.arange(args.nodes), train_idx))
    val_idx, test_idx = rest[:150], rest[150:]
    train_mask = np.zeros(args.nodes, np.float32)
    train_mask[train_idx] = 1.0

    model = GCN(args.hidden, args.classes)
    key = jax.random.PRNGKey(args.seed)
    key, init_key = jax.random.split(key)
    params = model.init(init_key, a, x, train=False)
    tx = optax.adamw(args.lr, weight_decay=args.wd)
    opt_state = tx.init(params)

    @jax.jit
    def step(params, opt_state, key):
        def loss_fn(p):
            logits = model.apply(p, a, x, train=True, rngs={"dropout": key})
            ce = optax.softmax_cross_entropy_with_integer_labels(logits, y)
            return jnp.sum(ce * train_mask) / train_mask.sum()
        loss, g = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(g, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    @jax.jit
    def predict(params):
        return model.apply(params, a, x, train=False).argmax(-1)

    best, best_params = 0.0, params
    for i in range(args.steps):
        key, sub = jax.random.split(key)
        params, opt_state, loss = step(params, opt_state, sub)
        if (i + 1) % 10 == 0:
            pred = np.asarray(predict(params))
            val = (pred[val_idx] == y[val_idx]).mean()
            if val > best:
                best, best_params = val, params
            if (i + 1) % 50 == 0:
                print(f"step {i + 1} loss {float(loss):.3f} val {val:.3f}")

    pred = np.asarray(predict(best_params))
    print("best val", round(float(best), 3), "test", round(float((pred[test_idx] == y[test_idx]).mean()), 3))


if __name__ == "__main__":
    main()
