# Softmax MLP from scratch in JAX on digits
import jax, jax.numpy as jnp
from jax import random, grad, jit
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(jnp.array(X / 16), jnp.array(y), test_size=0.3, random_state=0)

def init_params(key):
    k1, k2 = random.split(key)
    return {"W1": random.normal(k1, (64, 100)) * 0.15, "b1": jnp.zeros(100),
            "W2": random.normal(k2, (100, 10)) * 0.1, "b2": jnp.zeros(10)}

def logits(p, x):
    return jnp.maximum(x @ p["W1"] + p["b1"], 0) @ p["W2"] + p["b2"]

def loss_fn(p, x, y):
    return -jax.nn.log_softmax(logits(p, x))[jnp.arange(len(y)), y].mean()

def get_batch(key, n=64):
    key, sub = random.split(key)
    idx = random.choice(sub, len(Xtr), (n,), replace=False)
    return Xtr[idx], ytr[idx]

@jit
def step(p, m, x, y, lr):
    l, g = jax.value_and_grad(loss_fn)(p, x, y)
    m = jax.tree.map(lambda a, b: 0.9 * a + b, m, g)
    p = jax.tree.map(lambda a, b: a - lr * b, p, m)
    return p, m, l

key = random.PRNGKey(0)
key, k_init = random.split(key)
params = init_params(k_init)
mom = jax.tree.map(jnp.zeros_like, params)
N = 1500
for i in range(N):
    xb, yb = get_batch(key)
    params, mom, l = step(params, mom, xb, yb, 0.02)
    if i % 150 == 0:
        print(f"step {i:5d}  loss {l:.5f}")
acc = (logits(params, Xte).argmax(1) == yte).mean()
print(f"test accuracy {acc:.4f}")
