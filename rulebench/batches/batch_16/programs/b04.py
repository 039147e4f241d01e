"""Variational autoencoder on 8x8 digits in plain JAX."""
import argparse
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits


def dense(key, m, n):
    return {"w": jax.random.normal(key, (m, n)) / jnp.sqrt(m), "b": jnp.zeros(n)}


def init(key, latent=8, hidden=96):
    k = jax.random.split(key, 4)
    return {"e1": dense(k[0], 64, hidden), "e2": dense(k[1], hidden, 2 * latent),
            "d1": dense(k[2], latent, hidden), "d2": dense(k[3], hidden, 64)}


def lin(p, x):
    return x @ p["w"] + p["b"]


def encode(params, x):
    h = jax.nn.relu(lin(params["e1"], x))
    mu, logvar = jnp.split(lin(params["e2"], h), 2, axis=-1)
    return mu, logvar


def decode(params, z):
    return lin(params["d2"], jax.nn.relu(lin(params["d1"], z)))


def neg_elbo(params, key, x):
    mu, logvar = encode(params, x)
    z = mu + jnp.exp(0.5 * logvar) * jax.random.normal(key, mu.shape)
    logits = decode(params, z)
    rec = optax.sigmoid_binary_cross_entropy(logits, x).sum(-1)
    kl = 0.5 * (jnp.exp(logvar) + mu ** 2 - 1 - logvar).sum(-1)
    return (rec + kl).mean(), (rec.mean(), kl.mean())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--batch", type=int, default=100)
    ap.add_argument("--lr", type=float, default=2e-3)
    a = ap.parse_args()
    x = (load_digits().data / 16.0).astype(np.float32)
    np.random.default_rng(0).shuffle(x)
    xtr, xte = x[:1500], jnp.asarray(x[1500:])
    key = jax.random.PRNGKey(0)
    key, sub = jax.random.split(key)
    params = init(sub)
    tx = optax.chain(optax.clip_by_global_norm(50.0), optax.adam(a.lr))
    state = tx.init(params)

    @jax.jit
    def step(params, state, key, xb):
        (loss, aux), g = jax.value_and_grad(neg_elbo, has_aux=True)(params, key, xb)
        up, state = tx.update(g, state)
        return optax.apply_updates(params, up), state, loss, aux

    rng = np.random.default_rng(1)
    for ep in range(a.epochs):
        perm = rng.permutation(len(xtr))
        tot = 0.0
        for i in range(0, len(xtr), a.batch):
            key, sub = jax.random.split(key)
            params, state, loss, _ = step(params, state, sub, jnp.asarray(xtr[perm[i:i + a.batch]]))
            tot += float(loss)
        if ep % 5 == 4:
            _, (rec, kl) = neg_elbo(params, jax.random.PRNGKey(99), xte)
            print(f"epoch {ep + 1} -elbo {tot / 15:.3f} test rec {rec:.3f} kl {kl:.3f}")


if __name__ == "__main__":
    main()
