"""The hook for MXNet sees the Module API: its ends, its parameters, its metrics."""

from __future__ import annotations

import mxnet as mx
import numpy as np
import pytest

from stepwatch.model.steps import Mode
from stepwatch.testing.hook_contract import HookContract, Trained
from stepwatch.trial import Trial
from stepwatch_smdebug.mxnet import MXNetHook

pytestmark = pytest.mark.framework

GRAPH = """
import mxnet as mx
import numpy as np

mx.random.seed(0)
np.random.seed(0)
layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
layer = mx.sym.Dropout(mx.sym.Activation(layer, act_type="relu"))
layer = mx.sym.FullyConnected(layer, num_hidden=3, name="fc2")
graph = mx.sym.SoftmaxOutput(layer, name="softmax")
x = np.random.randn(12 * {steps}, 4).astype("float32")
batches = mx.io.NDArrayIter(x, x[:, :3].argmax(1), batch_size=12, label_name="softmax_label")
module = mx.mod.Module(graph, context=[mx.cpu(0), mx.cpu(1)])
module.bind(batches.provide_data, batches.provide_label)
module.init_params()
module.init_optimizer(optimizer="sgd", optimizer_params={{"learning_rate": 0.5}})
judge, losses = mx.metric.CrossEntropy(), []
"""
LOOP = """
for step, batch in enumerate(batches):
    judge.reset()
    module.forward_backward(batch)
    each(step)
    module.update()
    module.update_metric(judge, batch.label)
    losses.append(judge.get()[1])
"""


class TestModule(HookContract):
    """A training of symbols, in the loop that ``Module.fit`` is."""

    loss = "loss/cross-entropy"

    def make(self, run, **options):
        return MXNetHook(run, **options)

    def train(self, hook, steps, each=lambda _: None):
        known = {"each": each}
        exec(GRAPH.format(steps=steps) + LOOP, known)
        weights, _ = known["module"].get_params()
        return Trained({name: one.asnumpy() for name, one in weights.items()}, known["losses"])

    def script(self, steps):
        text = GRAPH.format(steps=steps) + LOOP.replace("    each(step)\n", "")
        return text + "print(repr(float(losses[-1])))\n"

    def patched(self):
        return mx.mod.Module.forward, mx.mod.Module.update, mx.mod.Module.update_metric


class TestFit:
    @pytest.fixture
    def trial(self, tmp_path):
        """A training by ``fit``, judged after each epoch."""
        mx.random.seed(0)
        np.random.seed(0)
        layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc")
        layer = mx.sym.BatchNorm(layer, name="bn")
        graph = mx.sym.SoftmaxOutput(layer, name="softmax")
        x = np.random.randn(24, 4).astype("float32")
        data = [
            mx.io.NDArrayIter(x, x.argmax(1), batch_size=8, label_name="softmax_label")
            for _ in range(2)
        ]
        self.judge = mx.metric.create(["acc", "ce"])
        with MXNetHook(tmp_path / "run", say=lambda _: None, strict=True):
            module = mx.mod.Module(graph)
            module.fit(data[0], eval_data=data[1], eval_metric=self.judge, num_epoch=2)
        return Trial(tmp_path / "run")

    def test_metrics_are_those_of_each_batch(self, trial):
        """Not the mean since the epoch began; the mean of them is what ``fit`` shows at last."""
        assert (list(range(6)), list(range(6))) == (trial.steps(Mode.TRAIN), trial.steps(Mode.EVAL))
        seen = trial.tensor("loss/cross-entropy").statistics(mode=Mode.EVAL)["mean"]
        shown = dict(self.judge.get_name_value())["cross-entropy"]
        np.testing.assert_allclose(shown, seen[3:].mean(), rtol=1e-6)
        assert list(range(6)) == trial.tensor("metric/accuracy").steps(Mode.TRAIN)

    def test_a_scale_that_is_fixed_is_no_weight(self, trial):
        """Its gradient is always zero, which is no fault."""
        weights = ["bn_beta", "fc_bias", "fc_weight"]
        assert weights == trial.tensor_names(collection="weights")
        assert "bn_gamma" in trial.tensor_names(collection="buffers")
