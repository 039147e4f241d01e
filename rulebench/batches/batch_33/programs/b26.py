import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training import train_state
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        x = nn.relu(nn.Conv(16, (3, 3))(x))
        x = x.reshape((x.shape[0], -1))
        x = nn.Dropout(0.2, deterministic=not train)(x)
        return nn.Dense(10)(x)


data = load_digits()
imgs = (data.images / 16.0).astype(np.float32)[..., None]
Xtr, Xte, ytr, yte = train_test_split(imgs, data.target, test_size=0.3, random_state=0)
Xtr, Xte, ytr, yte = map(jnp.asarray, (Xtr, Xte, ytr, yte))

rng = jax.random.PRNGKey(4)
rng, init_key = jax.random.split(rng)
model = CNN()
params = model.init(init_key, Xtr[:1], train=False)["params"]
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(2e-3))


@jax.jit
def train_step(state, rng):
    batch_key, dropout_key = jax.random.split(rng)
    idx = jax.random.randint(batch_key, (64,), 0, Xtr.shape[0])
    x, y = Xtr[idx], ytr[idx]

    def loss_fn(p):
        logits = state.apply_fn({"params": p}, x, train=True, rngs={"dropout": dropout_key})
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


@jax.jit
def accuracy(params, x, y):
    return (model.apply({"params": params}, x, train=False).argmax(-1) == y).mean()


for step in range(1, 1501):
    state, loss = train_step(state, rng)
    if step % 150 == 0:
        print(f"step {step:5d} | loss {float(loss):.4f} | test acc {float(accuracy(state.params, Xte, yte)):.4f}")

print("test accuracy:", float(accuracy(state.params, Xte, yte)))
