"""Wine-style classifier in plain JAX with optax."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

CFG = dict(hidden=(32, 32), lr=3e-3, epochs=25, batch=32, clip=1.0, l2=1e-4)


def init_params(key, sizes):
    params = []
    for k, (m, n) in zip(jax.random.split(key, len(sizes) - 1), zip(sizes[:-1], sizes[1:])):
        params.append({"w": jax.random.normal(k, (m, n)) * jnp.sqrt(2 / m), "b": jnp.zeros(n)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]


def loss_fn(params, x, y):
    bce = optax.sigmoid_binary_cross_entropy(forward(params, x), y).mean()
    return bce + CFG["l2"] * sum(jnp.sum(l["w"] ** 2) for l in params)


def make_optimizer(total):
    return optax.chain(optax.clip_by_global_norm(CFG["clip"]),
                       optax.adam(optax.warmup_cosine_decay_schedule(0.0, CFG["lr"], total // 10, total)))


def make_update(tx):
    @jax.jit
    def update(params, state, x, y):
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        updates, state = tx.update(grads, state, params)
        params = optax.apply_updates(params, grads)
        return params, state, loss
    return update


@jax.jit
def accuracy(params, x, y):
    return jnp.mean((forward(params, x) > 0) == (y > 0.5))


def batches(rng, x, y, bs):
    p = rng.permutation(len(x))
    for i in range(0, len(p) - bs + 1, bs):
        yield x[p[i:i + bs]], y[p[i:i + bs]]


def main():
    d = load_breast_cancer()
    xtr, xte, ytr, yte = train_test_split(d.data, d.target.astype("float32"), test_size=0.3, random_state=0, stratify=d.target)
    sc = StandardScaler().fit(xtr)
    xtr, xte = sc.transform(xtr).astype("float32"), sc.transform(xte).astype("float32")
    params = init_params(jax.random.PRNGKey(1), (xtr.shape[1], *CFG["hidden"], 1))
    tx = make_optimizer(CFG["epochs"] * (len(xtr) // CFG["batch"]))
    state, update = tx.init(params), make_update(tx)
    rng = np.random.default_rng(0)
    for ep in range(CFG["epochs"]):
        losses = []
        for x, y in batches(rng, xtr, ytr, CFG["batch"]):
            params, state, loss = update(params, state, x, y)
            losses.append(float(loss))
        if ep % 4 == 0:
            print(f"epoch {ep} loss {np.mean(losses):.4f} train acc {float(accuracy(params, xtr, ytr)):.4f} test acc {float(accuracy(params, xte, yte)):.4f}")
    print(f"final test acc {float(accuracy(params, xte, yte)):.4f}")


if __name__ == "__main__":
    main()
