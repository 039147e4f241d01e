# InfoNCE between two noisy views, JAX + optax
import numpy as np
import jax
import jax.numpy as jnp
import optax
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
K, N, DX = 8, 12000, 40
centres = rng.normal(size=(K, 6)) * 1.2
lab = rng.integers(0, K, N)
latent = centres[lab] + 0.5 * rng.normal(size=(N, 6))
W1, W2 = rng.normal(size=(6, DX)), rng.normal(size=(6, DX))
view1 = (np.tanh(latent @ W1) + 0.6 * rng.normal(size=(N, DX))).astype("float32")
view2 = (np.tanh(latent @ W2) + 0.6 * rng.normal(size=(N, DX))).astype("float32")
n_train = 11000


def init_mlp(key, sizes):
    params = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        params.append((jax.random.normal(sub, (i, o)) * jnp.sqrt(2.0 / i), jnp.zeros(o)))
    return params


def apply_mlp(params, x):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    z = x @ w + b
    return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-8)


def info_nce(params, a, b):
    za, zb = apply_mlp(params["f"], a), apply_mlp(params["g"], b)
    logits = za @ zb.T * jnp.exp(params["log_scale"])
    target = jnp.arange(a.shape[0])
    la = optax.softmax_cross_entropy_with_integer_labels(logits, target)
    lb = optax.softmax_cross_entropy_with_integer_labels(logits.T, target)
    return 0.5 * (la.mean() + lb.mean())


k1, k2 = jax.random.split(jax.random.PRNGKey(0))
params = {"f": init_mlp(k1, [DX, 64, 16]), "g": init_mlp(k2, [DX, 64, 16]), "log_scale": jnp.log(5.0)}
steps = 800
tx = optax.chain(optax.clip_by_global_norm(1.0),
                 optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 3e-3, 50, steps), weight_decay=1e-3))
state = tx.init(params)


@jax.jit
def step(params, state, a, b):
    loss, g = jax.value_and_grad(info_nce)(params, a, b)
    upd, state = tx.update(g, state, params)
    return optax.apply_updates(params, upd), state, loss


for i in range(steps):
    idx = rng.choice(n_train, 128, replace=False)
    params, state, loss = step(params, state, view1[idx], view2[idx])
    if i % 100 == 0 or i == steps - 1:
        held = info_nce(params, view1[n_train:n_train + 128], view2[n_train:n_train + 128])
        print(f"step {i:4d} loss {loss:.3f} held-out {held:.3f} scale {jnp.exp(params['log_scale']):.2f} (chance {np.log(128):.2f})")

z = np.asarray(apply_mlp(params["f"], view1))
clf = LogisticRegression(max_iter=500).fit(z[:n_train], lab[:n_train])
print("linear probe accuracy", clf.score(z[n_train:], lab[n_train:]))
