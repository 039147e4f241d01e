import functools
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# A small MLP in plain JAX; the whole data set lives on the device and the batch is drawn inside jit.

SIZES = [64, 128, 64, 10]


def init_params(key):
    params = []
    for k, (m, n) in zip(jax.random.split(key, len(SIZES) - 1), zip(SIZES[:-1], SIZES[1:])):
        params.append({"w": jax.random.normal(k, (m, n)) * jnp.sqrt(2.0 / m), "b": jnp.zeros(n)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()


schedule = optax.cosine_decay_schedule(2e-3, 1500)
tx = optax.adamw(schedule, weight_decay=1e-4)


@functools.partial(jax.jit, static_argnames="batch_size")
def train_step(params, opt_state, key, X, Y, batch_size=96):
    idx = jax.random.choice(key, X.shape[0], (batch_size,), replace=False)
    x = X[idx] + 0.05 * jax.random.normal(jax.random.fold_in(key, 1), (batch_size, X.shape[1]))
    loss, grads = jax.value_and_grad(loss_fn)(params, x, Y[idx])
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


@jax.jit
def accuracy(params, x, y):
    return (forward(params, x).argmax(-1) == y).mean()


def main():
    d = load_digits()
    Xtr, Xte, ytr, yte = train_test_split((d.data / 16).astype(np.float32), d.target, test_size=0.25, random_state=0)
    Xtr, Xte, ytr, yte = map(jnp.asarray, (Xtr, Xte, ytr, yte))
    init_key, data_key = jax.random.split(jax.random.PRNGKey(0))
    params = init_params(init_key)
    opt_state = tx.init(params)
    for step in range(1500):
        params, opt_state, loss = train_step(params, opt_state, data_key, Xtr, ytr)
        if step % 250 == 0:
            print(f"step {step:5d}  loss {float(loss):.4f}  test acc {float(accuracy(params, Xte, yte)):.4f}")
    print("final test accuracy: %.4f" % float(accuracy(params, Xte, yte)))


if __name__ == "__main__":
    main()
