import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

# flax MLP, warmup + cosine, gradients of four mini-batches averaged
rng = np.random.default_rng(305)
X = rng.normal(size=(4000, 10)).astype("float32")
y = np.clip(np.floor(X[:, 0] + X[:, 1] ** 2 + 0.5), -1, 2).astype(int) + 1


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        for w in (64, 64):
            x = nn.Dense(w)(x)
            x = nn.LayerNorm()(x)
            x = nn.gelu(x)
            x = nn.Dropout(0.1, deterministic=not train)(x)
        return nn.Dense(4)(x)


model = MLP()
key = jax.random.PRNGKey(305)
params = model.init(key, jnp.zeros((1, 10)), False)
sched = optax.warmup_cosine_decay_schedule(0.0, 5e-3, 30, 400)
tx = optax.MultiSteps(optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(sched, weight_decay=1e-3)), 4)
opt = tx.init(params)


@jax.jit
def step(params, opt, x, t, k):
    def f(p):
        lg = model.apply(p, x, True, rngs={"dropout": k})
        return optax.softmax_cross_entropy_with_integer_labels(lg, t).mean()
    l, g = jax.value_and_grad(f)(params)
    u, opt = tx.update(g, opt, params)
    return optax.apply_updates(params, u), opt, l


for epoch in range(16):
    p, tot = rng.permutation(3200), 0.0
    for i in range(0, 3200, 32):
        key, sub = jax.random.split(key)
        b = p[i:i + 32]
        params, opt, l = step(params, opt, X[b], y[b], sub)
        tot += float(l)
    acc = (model.apply(params, X[3200:], False).argmax(-1) == y[3200:]).mean()
    print(f"epoch {epoch} loss {tot / 100:.4f} test acc {float(acc):.3f}")
