"""Trainings with JAX that tests watch: a module of NNX, and a plain pytree."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from stepwatch.testing.hook_contract import Trained


class Model(nnx.Module):
    """Two layers with dropout between them, and a count that is no parameter."""

    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 1, rngs=rngs)])
        self.calls = nnx.Variable(jnp.zeros((), jnp.int32))
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        self.calls[...] += 1
        return self.layers[1](self.dropout(nnx.relu(self.layers[0](x))))


def batches(steps):
    """Yield inputs and targets from a fixed seed."""
    rng = np.random.default_rng(0)
    for _ in range(steps):
        x = rng.normal(size=(16, 4)).astype(np.float32)
        yield jnp.asarray(x), jnp.asarray(x.sum(1, keepdims=True))


def train_nnx(steps, each=lambda _: None):
    """Train the model with Adam, compiled."""
    model = Model(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)

    @nnx.jit
    def train_step(model, optimizer, x, y):
        def mse(model):
            return jnp.mean((model(x) - y) ** 2)

        loss, gradients = nnx.value_and_grad(mse)(model)
        optimizer.update(model, gradients)
        return loss

    losses = []
    for step, (x, y) in enumerate(batches(steps)):
        losses.append(float(train_step(model, optimizer, x, y)))
        each(step)
    weights = {
        ".".join(map(str, path)): np.asarray(leaf[...])
        for path, leaf in nnx.to_flat_state(nnx.state(model, nnx.Param))
    }
    return Trained(weights, losses)


def initial_params():
    """Return the parameters of two layers, as a dict."""
    first, second = jax.random.split(jax.random.key(0))
    return {
        "hidden": {"kernel": jax.random.normal(first, (4, 8)), "bias": jnp.zeros(8)},
        "out": {"kernel": jax.random.normal(second, (8, 1)), "bias": jnp.zeros(1)},
    }


def predict(params, x):
    """Return what the two layers make of inputs."""
    hidden = jax.nn.relu(x @ params["hidden"]["kernel"] + params["hidden"]["bias"])
    return hidden @ params["out"]["kernel"] + params["out"]["bias"]


def mse(params, x, y):
    """Return the loss."""
    return jnp.mean((predict(params, x) - y) ** 2)


def sgd(params, gradients, rate=0.01):
    """Return updated parameters."""
    return jax.tree.map(lambda p, g: p - rate * g, params, gradients)


def train_plain(steps, each=lambda _: None):
    """Train the pytree with SGD by hand, compiled, its buffers given away."""
    params = initial_params()

    @jax.jit
    def untouched(params):
        return jax.tree.map(jnp.copy, params)

    @jax.jit
    def outer(params, x, y):
        return jax.value_and_grad(mse)(params, x, y)

    def train_step(params, x, y):
        loss, gradients = outer(params, x, y)
        return sgd(params, gradients), loss

    train_step = jax.jit(train_step, donate_argnums=0)
    params, losses = untouched(params), []
    for step, (x, y) in enumerate(batches(steps)):
        params, loss = train_step(params, x, y)
        losses.append(float(loss))
        each(step)
    weights = {
        f"{layer}.{name}": np.asarray(value)
        for layer, values in params.items()
        for name, value in values.items()
    }
    return Trained(weights, losses)
