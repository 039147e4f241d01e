"""JAX: the updates have the wrong sign.

`optax.adam` turns the sign; a chain of one's own must do so itself. The training climbs.

    stepwatch run examples/05_jax.py

Found: `loss_direction`. Mended by `optax.scale(-1e-2)`.
"""

import jax
import optax
from flax import nnx


class Classifier(nnx.Module):
    """Two layers."""

    def __init__(self, rngs):
        self.encoder = nnx.Linear(16, 32, rngs=rngs)
        self.head = nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, x):
        return self.head(nnx.relu(self.encoder(x)))


def cross_entropy(model, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()


@nnx.jit
def train_step(model, optimizer, x, labels):
    loss, gradients = nnx.value_and_grad(cross_entropy)(model, x, labels)
    optimizer.update(model, gradients)
    return loss


model = Classifier(nnx.Rngs(0))
rule = optax.chain(optax.scale_by_adam(), optax.scale(1e-2))  # the mistake: no minus
optimizer = nnx.Optimizer(model, rule, wrt=nnx.Param)
patterns = jax.random.normal(jax.random.key(1), (10, 16))
for step in range(150):
    key, noise = jax.random.split(jax.random.key(step))
    labels = jax.random.randint(key, (32,), 0, 10)
    x = patterns[labels] + 0.3 * jax.random.normal(noise, (32, 16))
    loss = train_step(model, optimizer, x, labels)
print(f"last loss {loss:.3f}")
