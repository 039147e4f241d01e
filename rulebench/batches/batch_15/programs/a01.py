"""Two-tower recommender trained with in-batch negatives in a JAX loop; EMA weights for eval."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import keras
from keras import layers


def make_interactions(n_users, n_items, n, rng):
    u_lat = rng.normal(size=(n_users, 4))
    i_lat = rng.normal(size=(n_items, 4))
    logits = 2.0 * u_lat @ i_lat.T
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    users = rng.integers(0, n_users, n)
    items = np.array([rng.choice(n_items, p=p[u]) for u in users])
    return np.stack([users, items], 1).astype("int32")


def tower(n, dim):
    inp = keras.Input((), dtype="int32")
    h = layers.Embedding(n, dim)(inp)
    h = layers.Dense(dim, activation="relu")(h)
    return keras.Model(inp, layers.Dense(dim)(h))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--users", type=int, default=200)
    ap.add_argument("--items", type=int, default=120)
    ap.add_argument("--n", type=int, default=9000)
    ap.add_argument("--dim", type=int, default=24)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--temperature", type=float, default=0.5)
    ap.add_argument("--ema", type=float, default=0.98)
    args = ap.parse_args()

    keras.utils.set_random_seed(66)
    rng = np.random.default_rng(66)
    data = make_interactions(args.users, args.items, args.n, rng)
    train, test = data[:8000], data[8000:]
    log_pop = np.log(np.bincount(train[:, 1], minlength=args.items) + 1.0).astype("float32")
    log_pop -= np.log(len(train))

    ut, it = tower(args.users, args.dim), tower(args.items, args.dim)
    variables = ut.trainable_variables + it.trainable_variables
    k = len(ut.trainable_variables)
    opt = keras.optimizers.Adam(4e-3)
    opt.build(variables)

    def embed(params, u, i):
        eu, _ = ut.stateless_call(params[:k], [], u)
        ei, _ = it.stateless_call(params[k:], [], i)
        return eu, ei

    def loss_fn(params, batch):
        u, i = batch[:, 0], batch[:, 1]
        eu, ei = embed(params, u, i)
        scores = eu @ ei.T / args.temperature - jnp.asarray(log_pop)[i][None, :]
        duplicate = (i[:, None] == i[None, :]) & ~jnp.eye(len(i), dtype=bool)
        scores = jnp.where(duplicate, -1e9, scores)
        return -jnp.mean(jnp.diag(jax.nn.log_softmax(scores, axis=1)))

    @jax.jit
    def step(params, ema, opt_vars, batch):
        loss, grads = jax.value_and_grad(loss_fn)(params, batch)
        params, opt_vars = opt.stateless_apply(opt_vars, grads, params)
        ema = [args.ema * e + (1 - args.ema) * p for e, p in zip(ema, params)]
        return params, ema, opt_vars, loss

    def recall(params, pairs, top=10):
        eu, ei = embed(params, jnp.asarray(pairs[:, 0]), jnp.arange(args.items))
        best = np.argsort(-np.asarray(eu @ ei.T), axis=1)[:, :top]
        return (best == pairs[:, 1:2]).any(1).mean()

    params = [v.value for v in variables]
    ema = [v.value for v in variables]
    opt_vars = [v.value for v in opt.variables]
    for epoch in range(args.epochs):
        perm, losses = rng.permutation(len(train)), []
        for b in range(0, len(train) - args.batch_size + 1, args.batch_size):
            batch = jnp.asarray(train[perm[b:b + args.batch_size]])
            params, ema, opt_vars, loss = step(params, ema, opt_vars, batch)
            losses.append(float(loss))
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1} loss {np.mean(losses):.4f} "
                  f"recall@10 {recall(params, test):.4f} ema {recall(ema, test):.4f}")
    for v, val in zip(variables, ema):
        v.assign(val)
    popular = np.argsort(-log_pop)[:10]
    print("popularity recall@10 %.4f" % np.isin(test[:, 1], popular).mean())
    print("two-tower  recall@10 %.4f" % recall([v.value for v in variables], test))


if __name__ == "__main__":
    main()
