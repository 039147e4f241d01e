import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from sklearn.datasets import make_moons

# tiny denoising diffusion model (epsilon prediction) on 2-d points
T = 50
betas = jnp.linspace(1e-3, 0.15, T)
abar = jnp.cumprod(1 - betas)

pts, _ = make_moons(4000, noise=0.05, random_state=0)
pts = ((pts - pts.mean(0)) / pts.std(0)).astype("float32")
train, held = jnp.array(pts[:3000]), jnp.array(pts[3000:])


class Eps(nn.Module):
    @nn.compact
    def __call__(self, x, t):
        freqs = 2.0 ** jnp.arange(5)
        tt = t[:, None] / T * freqs
        h = jnp.concatenate([x, jnp.sin(jnp.pi * tt), jnp.cos(jnp.pi * tt)], -1)
        for _ in range(3):
            h = nn.swish(nn.Dense(96)(h))
        return nn.Dense(2)(h)


model = Eps()
rng = jax.random.PRNGKey(0)
rng, init_rng = jax.random.split(rng)
params = model.init(init_rng, train[:2], jnp.zeros(2))
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-3))
opt_state = tx.init(params)


def ddpm_loss(params, x0, key):
    k_t, k_n = jax.random.split(key)
    t = jax.random.randint(k_t, (len(x0),), 0, T)
    noise = jax.random.normal(k_n, x0.shape)
    xt = jnp.sqrt(abar[t])[:, None] * x0 + jnp.sqrt(1 - abar[t])[:, None] * noise
    return jnp.mean((model.apply(params, xt, t.astype(jnp.float32)) - noise) ** 2)


@jax.jit
def train_step(params, opt_state, key):
    k_idx, k_loss = jax.random.split(key)
    batch = train[jax.random.choice(k_idx, len(train), (256,))]
    loss, grads = jax.value_and_grad(ddpm_loss)(params, batch, k_loss)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


for step in range(3000):
    params, opt_state, loss = train_step(params, opt_state, rng)
    if step % 300 == 0:
        print(f"step {step:5d}  loss {float(loss):.4f}")


@jax.jit
def sample(params, key, n=1000):
    def body(i, carry):
        x, key = carry
        t = T - 1 - i
        key, k = jax.random.split(key)
        e = model.apply(params, x, jnp.full((x.shape[0],), t, jnp.float32))
        x = (x - betas[t] / jnp.sqrt(1 - abar[t]) * e) / jnp.sqrt(1 - betas[t])
        x = x + jnp.where(t > 0, jnp.sqrt(betas[t]), 0.0) * jax.random.normal(k, x.shape)
        return x, key
    return jax.lax.fori_loop(0, T, body, (jax.random.normal(key, (1000, 2)), key))[0]


s = np.array(sample(params, jax.random.PRNGKey(77)))
dist = np.sqrt(((s[:, None] - np.array(held)[None]) ** 2).sum(-1)).min(1)
final = np.mean([float(ddpm_loss(params, held, jax.random.PRNGKey(100 + i))) for i in range(20)])
print("samples: mean distance to nearest real point %.4f" % dist.mean())
print("noise prediction error on held-out points: %.4f" % final)
