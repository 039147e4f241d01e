"""OpenAI-style evolution strategies in JAX: the classifier is trained without any backpropagation.

The score of mirrored perturbations is turned into ranks and the resulting direction is handed to optax as if it
were a gradient. The objective is plain accuracy plus a little log-likelihood, which need not be differentiable."""
import numpy as np
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

SEED = 2
X, y = load_wine(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.35, stratify=y, random_state=SEED)
mu, sd = Xtr.mean(0), Xtr.std(0)
Xtr, Xte = jnp.asarray((Xtr - mu) / sd), jnp.asarray((Xte - mu) / sd)
ytr, yte = jnp.asarray(ytr), jnp.asarray(yte)

key = jax.random.PRNGKey(SEED)
k1, k2, key = jax.random.split(key, 3)
params = {"w1": jax.random.normal(k1, (13, 12)) * 0.3, "b1": jnp.zeros(12),
          "w2": jax.random.normal(k2, (12, 3)) * 0.3, "b2": jnp.zeros(3)}
theta, unravel = ravel_pytree(params)
SIGMA, POP = 0.1, 64


def logits(flat, x):
    p = unravel(flat)
    return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def fitness(flat):
    l = logits(flat, Xtr)
    acc = jnp.mean(jnp.argmax(l, -1) == ytr)
    return acc - 0.3 * optax.softmax_cross_entropy_with_integer_labels(l, ytr).mean()


tx = optax.chain(optax.add_decayed_weights(1e-3), optax.adam(0.02))


@jax.jit
def generation(theta, opt_state, key):
    noise = jax.random.normal(key, (POP, theta.size))
    noise = jnp.concatenate([noise, -noise])
    f = jax.vmap(lambda e: fitness(theta + SIGMA * e))(noise)
    ranks = jnp.argsort(jnp.argsort(f)) / (2 * POP - 1) - 0.5
    direction = -(ranks @ noise) / (2 * POP * SIGMA)          # optax walks downhill
    updates, opt_state = tx.update(direction, opt_state, theta)
    return optax.apply_updates(theta, updates), opt_state, f.mean(), f.max()


state = tx.init(theta)
for g in range(1, 401):
    key, sub = jax.random.split(key)
    theta, state, mean, best = generation(theta, state, sub)
    if g % 50 == 0:
        print(f"generation {g} mean fitness {mean:.4f} best {best:.4f}")
print("test accuracy %.4f" % float(jnp.mean(jnp.argmax(logits(theta, Xte), -1) == yte)))
