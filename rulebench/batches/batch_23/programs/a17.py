"""Toy diffusion model on two moons, JAX + flax + optax."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import make_moons

T = 50
STEPS = 3000
BATCH = 256

points, _ = make_moons(4000, noise=0.05, random_state=0)
points = ((points - points.mean(0)) / points.std(0)).astype(np.float32)
data = jnp.asarray(points[:3000])
held_out = jnp.asarray(points[3000:])

betas = jnp.linspace(1e-3, 0.15, T)
alphas = 1.0 - betas
alpha_bar = jnp.cumprod(alphas)


class Denoiser(nn.Module):
    @nn.compact
    def __call__(self, x, t):
        freqs = jnp.exp(jnp.linspace(0.0, 4.0, 8))
        ang = (t[:, None] / T) * freqs
        h = jnp.concatenate([x, jnp.sin(ang), jnp.cos(ang)], -1)
        for _ in range(3):
            h = nn.silu(nn.Dense(96)(h))
        return nn.Dense(2)(h)


net = Denoiser()
key = jax.random.PRNGKey(0)
key, init_key = jax.random.split(key)
params = net.init(init_key, data[:1], jnp.zeros(1))
tx = optax.adam(optax.cosine_decay_schedule(2e-3, STEPS))
opt_state = tx.init(params)


def loss_fn(params, x0, key):
    t_key, n_key = jax.random.split(key)
    t = jax.random.randint(t_key, (x0.shape[0],), 0, T)
    noise = jax.random.normal(n_key, x0.shape)
    ab = alpha_bar[t][:, None]
    xt = jnp.sqrt(ab) * x0 + jnp.sqrt(1 - ab) * noise
    return jnp.mean((net.apply(params, xt, t.astype(jnp.float32)) - noise) ** 2)


@jax.jit
def train_step(params, opt_state, key):
    batch_key, noise_key = jax.random.split(key)
    ix = jax.random.randint(batch_key, (BATCH,), 0, len(data))
    loss, grads = jax.value_and_grad(loss_fn)(params, data[ix], noise_key)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


key, train_key = jax.random.split(key)
for step in range(STEPS):
    params, opt_state, loss = train_step(params, opt_state, train_key)
    if (step + 1) % 300 == 0:
        print(f"step {step + 1:5d}  loss {float(loss):.4f}")


@jax.jit
def sample(params, key, x):
    def body(carry, t):
        x, key = carry
        key, sub = jax.random.split(key)
        eps = net.apply(params, x, jnp.full((x.shape[0],), t, jnp.float32))
        mean = (x - betas[t] / jnp.sqrt(1 - alpha_bar[t]) * eps) / jnp.sqrt(alphas[t])
        x = mean + jnp.where(t > 0, jnp.sqrt(betas[t]), 0.0) * jax.random.normal(sub, x.shape)
        return (x, key), None
    return jax.lax.scan(body, (x, key), jnp.arange(T)[::-1])[0][0]


key, k1, k2 = jax.random.split(key, 3)
generated = np.asarray(sample(params, k1, jax.random.normal(k2, (1000, 2))))
real = np.asarray(held_out)
d = np.linalg.norm(generated[:, None] - real[None], axis=-1)
print("mean distance sample -> nearest real:", round(float(d.min(1).mean()), 4))
print("mean distance real -> nearest sample:", round(float(d.min(0).mean()), 4))
