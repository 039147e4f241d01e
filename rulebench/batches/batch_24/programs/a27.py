"""Land-cover classification of multispectral pixels. Classes as in the survey codebook."""
import numpy as np
import jax
import jax.numpy as jnp
from jax import random
import flax.linen as nn
from flax.training import train_state
import optax

NAMES = {1: "water", 2: "forest", 3: "shrub", 4: "crop", 5: "bare", 6: "urban", 7: "wetland"}
NUM_CLASSES = len(NAMES)
BANDS = 10
EPOCHS = 12
BATCH = 128


def make_pixels(n, rng, spectra):
    share = [0.2, 0.22, 0.12, 0.16, 0.1, 0.1, 0.1]
    code = rng.choice(np.arange(1, 8), n, p=share)
    light = rng.normal(1.0, 0.1, (n, 1))
    x = spectra[code - 1] * light + rng.normal(0, 0.45, (n, BANDS))
    return x.astype(np.float32), code.astype(np.int32)


class PixelNet(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        x = nn.relu(nn.Dense(64)(x))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        x = nn.relu(nn.Dense(64)(x))
        return nn.Dense(NUM_CLASSES)(x)


def create_state(key, lr):
    model = PixelNet()
    params = model.init(key, jnp.ones((1, BANDS)))["params"]
    return train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(lr))


@jax.jit
def train_step(state, x, code, key):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, x, train=True, rngs={"dropout": key})
        target = jax.nn.one_hot(code, NUM_CLASSES)
        return optax.softmax_cross_entropy(logits, target).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


@jax.jit
def predict(state, x):
    return state.apply_fn({"params": state.params}, x).argmax(-1)


def main():
    rng = np.random.default_rng(5)
    spectra = rng.uniform(0, 2, (NUM_CLASSES, BANDS))
    x_train, code_train = make_pixels(12000, rng, spectra)
    x_test, code_test = make_pixels(3000, rng, spectra)
    mean, std = x_train.mean(0), x_train.std(0)
    x_train, x_test = (x_train - mean) / std, (x_test - mean) / std

    key = random.PRNGKey(5)
    key, init_key = random.split(key)
    state = create_state(init_key, 1e-3)

    for epoch in range(EPOCHS):
        order = rng.permutation(len(x_train))
        losses = []
        for i in range(0, len(order) - BATCH + 1, BATCH):
            idx = order[i:i + BATCH]
            key, drop_key = random.split(key)
            state, loss = train_step(state, x_train[idx], code_train[idx], drop_key)
            losses.append(loss)
        acc = np.mean(np.asarray(predict(state, x_test)) == code_test)
        print(f"epoch {epoch + 1:2d} loss {float(jnp.stack(losses).mean()):.4f} test acc {acc:.4f}")

    pred = np.asarray(predict(state, x_test))
    for c, name in NAMES.items():
        sel = code_test == c
        print(f"{name:8s} n={sel.sum():4d} recall {np.mean(pred[sel] == c):.3f}")


if __name__ == "__main__":
    main()
