"""Multinomial logistic regression with random Fourier features, Adam written by hand in JAX."""
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X / 16.0, y, test_size=0.3, random_state=0, stratify=y)

key = jax.random.key(0)
k_w, k_b, key = jax.random.split(key, 3)
W_rff = jax.random.normal(k_w, (64, 400)) * 0.5
b_rff = jax.random.uniform(k_b, (400,), maxval=2 * jnp.pi)


def features(x):
    return jnp.sqrt(2.0 / 400) * jnp.cos(x @ W_rff + b_rff) * 5.0


Ftr, Fte = features(jnp.asarray(Xtr)), features(jnp.asarray(Xte))
ytr, yte = jnp.asarray(ytr), jnp.asarray(yte)


def loss_fn(p, f, t):
    logits = f @ p["w"] + p["b"]
    lse = jax.scipy.special.logsumexp(logits, axis=1)
    nll = (lse - jnp.take_along_axis(logits, t[:, None], axis=1)[:, 0]).mean()
    return nll + 1e-4 * jnp.sum(p["w"] ** 2)


@jax.jit
def adam(p, m, v, t, f, target, lr=0.01, b1=0.9, b2=0.999, eps=1e-8):
    loss, g = jax.value_and_grad(loss_fn)(p, f, target)
    m = jax.tree.map(lambda a, b: b1 * a + (1 - b1) * b, m, g)
    v = jax.tree.map(lambda a, b: b2 * a + (1 - b2) * b * b, v, g)
    mh = jax.tree.map(lambda a: a / (1 - b1 ** t), m)
    vh = jax.tree.map(lambda a: a / (1 - b2 ** t), v)
    p = jax.tree.map(lambda a, b, c: a - lr * b / (jnp.sqrt(c) + eps), p, mh, vh)
    return p, m, v, loss


params = {"w": jnp.zeros((400, 10)), "b": jnp.zeros(10)}
m = jax.tree.map(jnp.zeros_like, params)
v = jax.tree.map(jnp.zeros_like, params)
t = 0
for epoch in range(15):
    key, sub = jax.random.split(key)
    perm = jax.random.permutation(sub, len(ytr))
    losses = []
    for i in range(0, len(ytr) - 63, 64):
        b = perm[i:i + 64]
        t += 1
        params, m, v, loss = adam(params, m, v, float(t), Ftr[b], ytr[b])
        losses.append(float(loss))
    acc = (jnp.argmax(Fte @ params["w"] + params["b"], 1) == yte).mean()
    print(f"epoch {epoch + 1} loss {np.mean(losses):.4f} test acc {float(acc):.4f}")
