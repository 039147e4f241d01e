"""BYOL-style representation learning on digits, then a linear probe (JAX, flax, optax)."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

DIM, BATCH, STEPS, TAU = 64, 128, 1200, 0.98


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(128)(x))
        x = nn.LayerNorm()(x)
        return nn.Dense(DIM)(x)


class Predictor(nn.Module):
    @nn.compact
    def __call__(self, z):
        return nn.Dense(DIM)(nn.relu(nn.Dense(64)(z)))


digits = load_digits()
X = (digits.images / 16.0).astype(np.float32)
y = digits.target
X_train, X_test, y_train, y_test = X[:1400], X[1400:], y[:1400], y[1400:]

encoder, predictor = Encoder(), Predictor()
k1, k2, key = jax.random.split(jax.random.key(0), 3)
params = {
    "enc": encoder.init(k1, jnp.zeros((1, 64))),
    "pred": predictor.init(k2, jnp.zeros((1, DIM))),
}
target = params["enc"]
tx = optax.adamw(2e-3, weight_decay=1e-4)
opt_state = tx.init(params)


def augment(key, x):
    ka, kb, kc = jax.random.split(key, 3)
    shift = jax.random.randint(ka, (x.shape[0],), -1, 2)
    x = jax.vmap(lambda im, s: jnp.roll(im, s, axis=1))(x, shift)
    x = x * jax.random.uniform(kb, (x.shape[0], 1, 1), minval=0.7, maxval=1.3)
    x = x + 0.2 * jax.random.normal(kc, x.shape)
    return x.reshape(x.shape[0], -1)


def unit(v):
    return v / (jnp.linalg.norm(v, axis=-1, keepdims=True) + 1e-6)


def loss_fn(params, target, v1, v2):
    def half(a, b):
        p = unit(predictor.apply(params["pred"], encoder.apply(params["enc"], a)))
        t = unit(jax.lax.stop_gradient(encoder.apply(target, b)))
        return jnp.mean(2 - 2 * jnp.sum(p * t, axis=-1))

    return 0.5 * (half(v1, v2) + half(v2, v1))


@jax.jit
def step(params, target, opt_state, key, x):
    ka, kb = jax.random.split(key)
    loss, grads = jax.value_and_grad(loss_fn)(params, target, augment(ka, x), augment(kb, x))
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    target = jax.tree.map(lambda t, o: TAU * t + (1 - TAU) * o, target, params["enc"])
    return params, target, opt_state, loss


def probe(enc):
    f = lambda im: np.asarray(unit(encoder.apply(enc, im.reshape(len(im), -1))))
    clf = LogisticRegression(max_iter=500, C=10.0).fit(f(X_train), y_train)
    return clf.score(f(X_test), y_test), f(X_test).std(0).mean()


print("before training: probe accuracy %.4f, feature std %.4f" % probe(params["enc"]))
rng = np.random.default_rng(0)
for i in range(1, STEPS + 1):
    key, sub = jax.random.split(key)
    batch = X_train[rng.integers(0, len(X_train), BATCH)]
    params, target, opt_state, loss = step(params, target, opt_state, sub, batch)
    if i % 100 == 0:
        print(f"step {i} loss {float(loss):.4f}")
acc, spread = probe(params["enc"])
print(f"linear probe accuracy {acc:.4f}   feature std {spread:.4f}")
