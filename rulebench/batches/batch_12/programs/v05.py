import argparse
import jax
import jax.numpy as jnp
import numpy as np
import optax

# SimCLR style contrastive pretraining on toy signals followed by a linear probe


def init(key, sizes):
    ks = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (a, b)) * jnp.sqrt(2 / a), jnp.zeros(b)) for k, a, b in zip(ks, sizes, sizes[1:])]


def encode(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return x, x @ w + b


def augment(key, x):
    k1, k2, k3 = jax.random.split(key, 3)
    x = x * jax.random.uniform(k1, (x.shape[0], 1), minval=0.6, maxval=1.4)
    x = x + 0.3 * jax.random.normal(k2, x.shape)
    return x * jax.random.bernoulli(k3, 0.8, x.shape)


def nt_xent(params, key, x, temp):
    ka, kb = jax.random.split(key)
    _, za = encode(params, augment(ka, x))
    _, zb = encode(params, augment(kb, x))
    z = jnp.concatenate([za, zb])
    z = z / (jnp.linalg.norm(z, axis=1, keepdims=True) + 1e-8)
    n = x.shape[0]
    sim = z @ z.T / temp - 1e9 * jnp.eye(2 * n)
    target = jnp.concatenate([jnp.arange(n) + n, jnp.arange(n)])
    return optax.softmax_cross_entropy_with_integer_labels(sim, target).mean()


def data(n, rng, k=5, d=40):
    protos = np.random.default_rng(7).normal(size=(k, d))
    y = rng.integers(0, k, n)
    return (protos[y] + 0.9 * rng.normal(size=(n, d))).astype("float32"), y


def probe(params, x, y, xt, yt):
    h, ht = encode(params, x)[0], encode(params, xt)[0]
    Y = jax.nn.one_hot(y, 5)
    h1 = jnp.hstack([h, jnp.ones((len(h), 1))])
    W = jnp.linalg.solve(h1.T @ h1 + 1e-1 * jnp.eye(h1.shape[1]), h1.T @ Y)
    return float(((jnp.hstack([ht, jnp.ones((len(ht), 1))]) @ W).argmax(1) == yt).mean())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=1200)
    p.add_argument("--temp", type=float, default=0.5)
    args = p.parse_args()
    rng = np.random.default_rng(0)
    x, _ = data(4000, rng)
    xl, yl = data(100, rng)
    xt, yt = data(1000, rng)
    key = jax.random.PRNGKey(1)
    key, k = jax.random.split(key)
    params = init(k, [40, 64, 32, 16])
    opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(2e-3, args.steps), weight_decay=1e-4))
    state = opt.init(params)

    @jax.jit
    def step(params, state, key, x):
        loss, g = jax.value_and_grad(nt_xent)(params, key, x, args.temp)
        u, state = opt.update(g, state, params)
        return optax.apply_updates(params, u), state, loss

    print("probe before", probe(params, xl, yl, xt, yt))
    for i in range(args.steps):
        key, k = jax.random.split(key)
        params, state, loss = step(params, state, k, x[rng.integers(0, 4000, 128)])
        if i % 150 == 0:
            print(i, float(loss))
    print("probe after", probe(params, xl, yl, xt, yt))


if __name__ == "__main__":
    main()
