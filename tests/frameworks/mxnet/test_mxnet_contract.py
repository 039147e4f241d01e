"""The hook for MXNet keeps to what every hook keeps to."""

from __future__ import annotations

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

from stepwatch.testing.hook_contract import HookContract, Trained
from stepwatch_smdebug.mxnet import MXNetHook

pytestmark = pytest.mark.framework

SCRIPT = """
import mxnet as mx
from mxnet import autograd, gluon, nd
mx.random.seed(0)
net = gluon.nn.{container}()
net.add(gluon.nn.Dense(8, activation="relu"), gluon.nn.Dropout(0.5), gluon.nn.Dense(1))
net.initialize()
{hybridize}
loss = gluon.loss.L2Loss()
trainer = gluon.Trainer(net.collect_params(), "adam", {{"learning_rate": 0.01}})
for step in range({steps}):
    x = nd.random.normal(shape=(16, 4))
    with autograd.record():
        each = loss(net(x), x.sum(axis=1, keepdims=True))
    each.backward()
    trainer.step(16)
print(repr(float(each.mean().asscalar())))
"""


class TestImperative(HookContract):
    """Blocks that run one by one."""

    loss = "loss/L2Loss"
    container = nn.Sequential
    contexts = (mx.cpu(0),)

    def make(self, run, **options):
        return MXNetHook(run, **options)

    def hybridize(self, net):
        """Leave it as it is."""

    def train(self, hook, steps, each=lambda _: None):
        mx.random.seed(0)
        net = self.container()
        net.add(nn.Dense(8, activation="relu"), nn.Dropout(0.5), nn.Dense(1))
        net.initialize(ctx=list(self.contexts))
        self.hybridize(net)
        loss = gluon.loss.L2Loss()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        losses = []
        for step in range(steps):
            batch = nd.random.normal(shape=(16, 4))
            parts = gluon.utils.split_and_load(batch, list(self.contexts))
            with autograd.record():
                found = [loss(net(part), part.sum(axis=1, keepdims=True)) for part in parts]
            each(step)
            autograd.backward(found)
            trainer.step(16)
            values = np.concatenate([one.asnumpy() for one in found])
            losses.append(float(values.mean(dtype=np.float64)))
        named = net._collect_params_with_prefix()
        return Trained({name: one.list_data()[0].asnumpy() for name, one in named.items()}, losses)

    def script(self, steps):
        return SCRIPT.format(steps=steps, container=self.container.__name__, hybridize="")

    def patched(self):
        return (
            gluon.Block.__call__,
            gluon.Trainer._update,
            gluon.Trainer._allreduce_grads,
            nd.NDArray.backward,
            autograd.backward,
        )


class TestHybridized(TestImperative):
    """One graph, of which only the ends are seen."""

    container = nn.HybridSequential

    def hybridize(self, net):
        net.hybridize()

    def script(self, steps):
        container = self.container.__name__
        return SCRIPT.format(steps=steps, container=container, hybridize="net.hybridize()")


class TestSeveralDevices(TestImperative):
    """A batch in two parts, whose gradients are added up by the key-value store."""

    contexts = (mx.cpu(0), mx.cpu(1))
