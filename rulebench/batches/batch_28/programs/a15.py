import jax, jax.numpy as jnp, optax
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# MLP in plain JAX, batches are drawn inside the jitted step so that nothing goes back to the host
SEED = 9
BATCH = 48
STEPS = 1500

X, y = load_digits(return_X_y=True)
X = X.astype(np.float32) / 16.0
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
X_train, y_train = jnp.array(X_train), jnp.array(y_train)


def init(key, sizes):
    params = []
    for k, m, n in zip(jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:]):
        params.append({"w": jax.random.normal(k, (m, n)) * jnp.sqrt(2.0 / m), "b": jnp.zeros(n)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


tx = optax.adam(1e-3)


@jax.jit
def train_step(params, opt_state, key):
    idx = jax.random.choice(key, X_train.shape[0], (BATCH,), replace=False)
    loss, grads = jax.value_and_grad(loss_fn)(params, X_train[idx], y_train[idx])
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


def main():
    key = jax.random.PRNGKey(SEED)
    key, k_init = jax.random.split(key)
    params = init(k_init, [64, 128, 64, 10])
    opt_state = tx.init(params)
    for step in range(1, STEPS + 1):
        params, opt_state, loss = train_step(params, opt_state, key)
        if step % 250 == 0:
            print(f"step {step:5d}  loss {loss:.5f}")
    acc = (forward(params, X_test).argmax(1) == y_test).mean()
    print(f"test accuracy: {acc:.4f}")


main()
