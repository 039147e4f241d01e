import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax import traverse_util

# Pretrain a small network on task A, then adapt it to task B: the body keeps
# its weights, the norms move slowly, the new head is trained with a high rate.


class Body(nn.Module):
    @nn.compact
    def __call__(self, x):
        for i in range(2):
            x = nn.Dense(64, name=f"dense_{i}")(x)
            x = nn.LayerNorm(name=f"norm_{i}")(x)
            x = nn.gelu(x)
        return x


class Net(nn.Module):
    n_out: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.n_out, name="head")(Body(name="body")(x))


rng = np.random.default_rng(73)
proj = rng.normal(size=(10, 6)) / np.sqrt(10)


def task(n, weights):
    x = rng.normal(size=(n, 10)).astype("float32")
    hidden = np.tanh(3 * x @ proj)
    return x, (hidden @ weights).argmax(-1).astype("int32")


w_a = rng.normal(size=(6, 8))
w_b = rng.normal(size=(6, 3))
xa, ya = task(6000, w_a)
xb, yb = task(400, w_b)
xt, yt = task(2000, w_b)


def train(model, params, tx, x, y, epochs, batch, tag):
    state = tx.init(params)

    @jax.jit
    def step(params, state, xb, yb):
        def loss_fn(p):
            logits = model.apply({"params": p}, xb)
            return optax.softmax_cross_entropy_with_integer_labels(logits, yb).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    for epoch in range(epochs):
        order = rng.permutation(len(x))
        losses = []
        for i in range(0, len(x) - batch + 1, batch):
            idx = order[i : i + batch]
            params, state, loss = step(params, state, x[idx], y[idx])
            losses.append(float(loss))
        if epoch % max(1, epochs // 6) == 0 or epoch == epochs - 1:
            print(f"{tag} epoch {epoch:2d} loss {np.mean(losses):.4f}")
    return params


def accuracy(model, params, x, y):
    return float((model.apply({"params": params}, x).argmax(-1) == y).mean())


net_a = Net(8)
params_a = net_a.init(jax.random.PRNGKey(0), xa[:1])["params"]
params_a = train(net_a, params_a, optax.adam(2e-3), xa, ya, 15, 100, "task A")
print("task A train accuracy", round(accuracy(net_a, params_a, xa, ya), 4))

net_b = Net(3)
params_b = net_b.init(jax.random.PRNGKey(1), xb[:1])["params"]
params_b["body"] = params_a["body"]


def label(path, _):
    if path[0] == "head":
        return "head"
    return "norm" if path[1].startswith("norm") else "body"


labels = traverse_util.path_aware_map(label, params_b)
tx = optax.multi_transform(
    {"head": optax.sgd(0.5, momentum=0.9), "norm": optax.sgd(1e-3), "body": optax.set_to_zero()}, labels
)
adapted = train(net_b, params_b, tx, xb, yb, 30, 50, "task B")
print("task B adapted accuracy", round(accuracy(net_b, adapted, xt, yt), 4))

fresh = net_b.init(jax.random.PRNGKey(2), xb[:1])["params"]
fresh = train(net_b, fresh, optax.adam(2e-3), xb, yb, 30, 50, "scratch")
print("task B from scratch accuracy", round(accuracy(net_b, fresh, xt, yt), 4))
