"""Binary classification of two noisy rings with plain JAX + optax."""
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
n = 2000
y = rng.integers(0, 2, n)
r = np.where(y == 0, 1.0, 1.8) + 0.22 * rng.normal(size=n)
a = rng.uniform(0, 2 * np.pi, n)
X = np.stack([r * np.cos(a), r * np.sin(a)], 1).astype(np.float32)
Xtr, ytr, Xte, yte = X[:1500], y[:1500], X[1500:], y[1500:]


def init(key):
    k1, k2, k3 = jax.random.split(key, 3)
    return {
        'w1': jax.random.normal(k1, (2, 32)) * 0.7, 'b1': jnp.zeros(32),
        'w2': jax.random.normal(k2, (32, 32)) * 0.2, 'b2': jnp.zeros(32),
        'w3': jax.random.normal(k3, (32, 1)) * 0.2, 'b3': jnp.zeros(1),
    }


def predict(p, x):
    h = jnp.tanh(x @ p['w1'] + p['b1'])
    h = jnp.tanh(h @ p['w2'] + p['b2'])
    return jax.nn.sigmoid(h @ p['w3'] + p['b3'])[:, 0]


def loss_fn(p, x, t):
    return optax.sigmoid_binary_cross_entropy(predict(p, x), t).mean()


opt = optax.sgd(0.1, momentum=0.9)


@jax.jit
def step(p, s, x, t):
    loss, g = jax.value_and_grad(loss_fn)(p, x, t)
    u, s = opt.update(g, s)
    return optax.apply_updates(p, u), s, loss


params = init(jax.random.PRNGKey(0))
state = opt.init(params)
for epoch in range(12):
    order = rng.permutation(len(Xtr))
    losses = []
    for i in range(0, len(order), 50):
        b = order[i:i + 50]
        params, state, l = step(params, state, Xtr[b], ytr[b].astype(np.float32))
        losses.append(float(l))
    test_loss = float(loss_fn(params, Xte, yte.astype(np.float32)))
    acc = float(((predict(params, Xte) > 0.5) == yte).mean())
    print(f'epoch {epoch} train {np.mean(losses):.4f} test {test_loss:.4f} acc {acc:.3f}')
