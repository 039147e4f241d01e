"""SimCLR-style contrastive learning on digits in JAX with hand-written momentum SGD, then a linear probe."""
import argparse
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression


def init(key):
    sizes = [64, 128, 64, 32]
    ks = jax.random.split(key, 3)
    return [{"w": jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, "b": jnp.zeros(b)} for k, a, b in zip(ks, sizes[:-1], sizes[1:])]


def encode(p, x):
    for l in p[:2]:
        x = jax.nn.relu(x @ l["w"] + l["b"])
    return x


def project(p, x):
    z = encode(p, x) @ p[2]["w"] + p[2]["b"]
    return z / (jnp.linalg.norm(z, axis=1, keepdims=True) + 1e-6)


def augment(key, x):
    k1, k2, k3, k4 = jax.random.split(key, 4)
    img = x.reshape(-1, 8, 8)
    shift = jax.random.randint(k1, (len(x), 2), -1, 2)
    img = jax.vmap(lambda im, s: jnp.roll(im, s, (0, 1)))(img, shift)
    keep = jax.random.bernoulli(k2, 0.85, img.shape)
    img = img * keep * jax.random.uniform(k3, (len(x), 1, 1), minval=0.7, maxval=1.3)
    return img.reshape(len(x), 64) + 0.05 * jax.random.normal(k4, x.shape)


def nt_xent(p, key, x, tau):
    ka, kb = jax.random.split(key)
    z = jnp.concatenate([project(p, augment(ka, x)), project(p, augment(kb, x))])
    n = len(x)
    sim = z @ z.T / tau - 1e9 * jnp.eye(2 * n)
    pos = jnp.concatenate([jnp.arange(n, 2 * n), jnp.arange(n)])
    return -jnp.mean(jax.nn.log_softmax(sim, 1)[jnp.arange(2 * n), pos])


def probe(p, xl, yl, xt, yt):
    clf = LogisticRegression(max_iter=2000).fit(np.asarray(encode(p, xl)), yl)
    return clf.score(np.asarray(encode(p, xt)), yt)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--tau", type=float, default=0.3)
    args = ap.parse_args()
    x, y = load_digits(return_X_y=True)
    x = jnp.asarray(x / 16.0, dtype=jnp.float32)
    order = np.random.default_rng(0).permutation(len(x))
    tr, te = order[:1300], order[1300:]
    lab = tr[:50]
    key = jax.random.PRNGKey(0)
    key, k0 = jax.random.split(key)
    params = init(k0)
    vel = jax.tree.map(jnp.zeros_like, params)

    @jax.jit
    def step(params, vel, key, xb, lr):
        loss, g = jax.value_and_grad(nt_xent)(params, key, xb, args.tau)
        vel = jax.tree.map(lambda v, d: 0.9 * v + d, vel, g)
        return jax.tree.map(lambda a, v: a - lr * v, params, vel), vel, loss

    print("linear probe, random encoder", round(probe(params, x[lab], y[lab], x[te], y[te]), 4))
    rng = np.random.default_rng(1)
    for it in range(args.steps):
        key, sub = jax.random.split(key)
        lr = args.lr * 0.5 * (1 + np.cos(np.pi * it / args.steps))
        params, vel, loss = step(params, vel, sub, x[rng.choice(tr, 256, replace=False)], lr)
        if (it + 1) % 300 == 0:
            print(f"step {it + 1} loss {float(loss):.4f} probe {probe(params, x[lab], y[lab], x[te], y[te]):.4f}")


if __name__ == "__main__":
    main()
