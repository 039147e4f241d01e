"""The hook for JAX keeps to what every hook keeps to, with NNX and with a plain pytree."""

from __future__ import annotations

import jax
import pytest
from flax import nnx

from stepwatch.hooks.jax import JaxHook
from stepwatch.testing.hook_contract import HookContract
from tests.support.frameworks.jax.jax_trainings import Model, train_nnx, train_plain

pytestmark = pytest.mark.framework

NNX_SCRIPT = """
import jax
import jax.numpy as jnp
import optax
from flax import nnx

class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(4, 8, rngs=rngs)
        self.second = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, x):
        return self.second(nnx.relu(self.first(x)))

def mse(model, x):
    return jnp.mean((model(x) - x.sum(1, keepdims=True)) ** 2)

@nnx.jit
def train_step(model, optimizer, x):
    loss, gradients = nnx.value_and_grad(mse)(model, x)
    optimizer.update(model, gradients)
    return loss

model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)
for step in range({steps}):
    loss = train_step(model, optimizer, jax.random.normal(jax.random.key(step), (16, 4)))
print(float(loss))
"""

PLAIN_SCRIPT = """
from functools import partial
import jax
from jax import grad, jit, numpy as jnp

def mse(params, x):
    loss = jnp.mean((x @ params["w"] + params["b"] - x.sum(1)) ** 2)
    return loss, loss

@partial(jit, static_argnames="rate", donate_argnames="params")
def train_step(params, x, rate):
    gradients, loss = grad(mse, has_aux=True)(params, x)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradients), loss

params = {{"w": jnp.zeros(4), "b": jnp.zeros(())}}
for step in range({steps}):
    x = jax.random.normal(jax.random.key(step), (16, 4))
    params, loss = train_step(params, x, rate=0.1)
print(float(loss))
"""


class _JaxContract(HookContract):
    loss = "loss/mse"

    def make(self, run, **options):
        return JaxHook(run=run, **options)

    def patched(self):
        scan, checkpoint = jax.lax.scan, jax.checkpoint
        modules = (nnx.Linear.__call__, Model.__call__)
        return (jax.jit, jax.grad, jax.value_and_grad, jax.remat, checkpoint, scan, *modules)


class TestNnx(_JaxContract):
    def train(self, hook, steps, each=lambda _: None):
        del hook  # it sees what is jitted
        return train_nnx(steps, each)

    def script(self, steps):
        return NNX_SCRIPT.format(steps=steps)


class TestPlainPytree(_JaxContract):
    def train(self, hook, steps, each=lambda _: None):
        del hook
        return train_plain(steps, each)

    def script(self, steps):
        return PLAIN_SCRIPT.format(steps=steps)
