import jax
import jax.numpy as jnp
import optax
from flax import nnx
from sklearn.datasets import load_wine, load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X = X.astype("float32") / 16.0
Xtr, Xte, ytr, yte = map(jnp.asarray, train_test_split(X, y, test_size=0.25, random_state=3, stratify=y))


class MLP(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.l1 = nnx.Linear(64, 128, rngs=rngs)
        self.l2 = nnx.Linear(128, 64, rngs=rngs)
        self.l3 = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.l1(x))
        x = nnx.relu(self.l2(x))
        return self.l3(x)


model = MLP(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)


@nnx.jit
def train_step(model, optimizer, key):
    idx = jax.random.choice(key, len(Xtr), (64,), replace=False)
    # light augmentation: pixel noise
    xb = Xtr[idx] + 0.05 * jax.random.normal(jax.random.fold_in(key, 1), (64, 64))

    def loss_fn(m):
        return optax.softmax_cross_entropy_with_integer_labels(m(xb), ytr[idx]).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


key = jax.random.key(0)
for step in range(1500):
    loss = train_step(model, optimizer, key)
    if step % 150 == 0:
        print(f"step {step:5d}  loss {float(loss):.5f}")

acc = (model(Xte).argmax(-1) == yte).mean()
print("test accuracy:", float(acc))
