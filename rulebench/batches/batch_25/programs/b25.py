# tiny DDPM on a 2-d swiss roll, jax + optax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import make_swiss_roll

T = 50
BATCH = 256
betas = jnp.linspace(1e-3, 0.15, T)
alpha_bar = jnp.cumprod(1.0 - betas)


def dataset(n, seed):
    x, _ = make_swiss_roll(n, noise=0.3, random_state=seed)
    return jnp.asarray(x[:, [0, 2]] / 7.0, jnp.float32)


def init(key, sizes):
    params = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        params.append({"w": jax.random.normal(sub, (m, n)) * jnp.sqrt(2.0 / m), "b": jnp.zeros(n)})
    return params


def features(t):
    ang = (t[:, None] / T) * jnp.array([1.0, 2.0, 4.0, 8.0]) * jnp.pi
    return jnp.concatenate([jnp.sin(ang), jnp.cos(ang)], 1)


def eps_model(params, x, t):
    h = jnp.concatenate([x, features(t)], 1)
    for layer in params[:-1]:
        h = jax.nn.silu(h @ layer["w"] + layer["b"])
    return h @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x0, key):
    k1, k2 = jax.random.split(key)
    t = jax.random.randint(k1, (x0.shape[0],), 0, T)
    eps = jax.random.normal(k2, x0.shape)
    ab = alpha_bar[t][:, None]
    xt = jnp.sqrt(ab) * x0 + jnp.sqrt(1 - ab) * eps
    return jnp.mean((eps_model(params, xt, t) - eps) ** 2)


key = jax.random.PRNGKey(0)
key, init_key, train_key = jax.random.split(key, 3)
params = init(init_key, [10, 128, 128, 2])
opt = optax.adam(optax.cosine_decay_schedule(2e-3, 4000))
opt_state = opt.init(params)


@jax.jit
def train_step(params, opt_state, x0, key):
    key, sub = jax.random.split(key)
    loss, grads = jax.value_and_grad(loss_fn)(params, x0, sub)
    updates, opt_state = opt.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


train, test = dataset(4096, 0), dataset(2048, 1)
rng = np.random.default_rng(0)
step, avg = 0, None
for epoch in range(250):
    order = rng.permutation(len(train))
    for i in range(0, len(train), BATCH):
        x0 = train[order[i:i + BATCH]]
        params, opt_state, loss = train_step(params, opt_state, x0, train_key)
        step += 1
        avg = float(loss) if avg is None else 0.98 * avg + 0.02 * float(loss)
    if epoch % 25 == 24:
        print(f"epoch {epoch + 1} step {step} loss {avg:.4f}")

held = np.mean([float(loss_fn(params, test, k)) for k in jax.random.split(jax.random.PRNGKey(123), 20)])
print("denoising mse on held-out points: %.4f" % held)
