"""What is captured equals what a slow and direct look sees."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch.hooks.torch import observe
from stepwatch.numerics.statistics import FIELDS, summarize
from tests.support.hooks.torch.trainings import (
    TinyCNN,
    TinyLSTM,
    X,
    Y,
    as_array,
    fit,
    inputs,
    mlp,
    sgd,
)


def outputs_of(model, into):
    """Write the outputs of a model's parts down by plain hooks on each of them."""

    def hook_for(name):
        def hook(module, given, output):
            if torch.is_tensor(output):
                into[f"output/{name}"] = summarize(as_array(output))

        return hook

    return [
        part.register_forward_hook(hook_for(name)) for name, part in model.named_modules() if name
    ]


def look_directly(model, batch, steps=3):
    """Train, and write down what was there by plain means, step by step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    seen = []
    for _ in range(steps):
        now = {}
        hooks = outputs_of(model, now)
        optimizer.zero_grad()
        loss = (model(batch) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        now["loss/backward"] = summarize(as_array(loss))
        for name, parameter in model.named_parameters():
            now[name] = summarize(as_array(parameter))
            now[f"gradient/{name}"] = summarize(as_array(parameter.grad))
        optimizer.step()
        for hook in hooks:
            hook.remove()
        seen.append(now)
    return seen


MODELS = [
    (TinyCNN, lambda: inputs(4, 1, 8, 8)),
    (TinyLSTM, lambda: torch.arange(20).reshape(4, 5) % 11),
]


class TestWhatIsCaptured:
    @pytest.mark.parametrize(("model", "batch"), MODELS, ids=["cnn", "lstm"])
    def test_it_is_what_was_there(self, watched, model, batch):
        """Weights before the update, gradients as the optimizer saw them, outputs as returned."""
        with watched() as seen:
            expected = look_directly(model(), batch())

        records = [record for (record,) in seen.trial.records()]
        assert len(expected) == len(records)
        for now, record in zip(expected, records, strict=True):
            rows = {
                info.name: row
                for info, row in zip(record.layout.tensors, record.statistics, strict=True)
            }
            assert now.keys() < rows.keys()
            for name, row in now.items():
                np.testing.assert_allclose(row, rows[name], rtol=1e-12, err_msg=name)

    def test_outputs_come_in_the_order_of_execution(self, watched):
        """Children before their parents, so that the origin of a nan can be found."""
        with watched() as seen:
            look_directly(TinyCNN(), inputs(4, 1, 8, 8))

        names = [name for name in seen.infos() if name.startswith("output/")]
        assert ["output/conv", "output/norm", "output/head", "output/TinyCNN"] == names

    def test_inputs_are_captured_where_an_output_is_not_finite(self, watched):
        """They tell who made a nan and who passed it on; on a healthy step they cost nothing."""
        model = mlp()

        def spoil(step):
            if step == 1:
                with torch.no_grad():
                    model[0].bias[0] = torch.nan

        with watched() as seen:
            fit(model, each=spoil)

        names = seen.trial.tensor_names(collection="inputs")
        assert {"input/0/0", "input/Sequential/0"} <= set(names)
        assert [2] == seen.trial.tensor("input/0/0").steps()

    def test_half_precision_is_read_as_it_is(self, watched):
        """A bfloat16 model keeps its dtype, and its statistics are those of its exact values."""
        model = mlp().bfloat16()
        weight = as_array(model[0].weight)
        with watched() as seen:
            fit(model, loss=lambda out, y: nn.MSELoss()(out.float(), y), steps=0)
            optimizer = sgd(model)
            nn.MSELoss()(model(X.bfloat16()).float(), Y).backward()
            optimizer.step()

        assert (
            "bfloat16" == seen.infos()["0.weight"].dtype == seen.infos()["gradient/0.weight"].dtype
        )
        assert summarize(weight)[FIELDS.index("sum_sq")] == seen.series("0.weight", "sum_sq")[0]

    def test_parameters_say_their_part_in_the_training(self, watched):
        """Whether they may learn, and how many groups of optimizers hold them."""
        model = mlp()
        model[0].requires_grad_(False)
        model.extra = nn.Linear(1, 1)
        optimizer = sgd(model[2])
        with watched() as seen:
            fit(model, optimizer)

        facts = {
            name: (info.trainable, info.optimizer_groups)
            for name, info in seen.infos().items()
            if info.collection == "weights"
        }
        assert (False, 0) == facts["0.weight"]
        assert (True, 1) == facts["2.weight"]
        assert (True, 0) == facts["extra.weight"]


class TestOnADevice:
    def test_steps_are_the_same_with_statistics_computed_on_a_device(self, watched, monkeypatch):
        """The way over an accelerator, walked on the CPU: a GAN, whose turns are merged."""
        from tests.hooks.torch.test_torch_steps import train_gan

        with watched() as host:
            train_gan(steps=3)
        monkeypatch.setattr(observe, "on_host", lambda tensor: False)
        with watched() as device:
            train_gan(steps=3)

        for (one,), (other,) in zip(host.trial.records(), device.trial.records(), strict=True):
            names = [info.name for info in one.layout.tensors if info.collection != "loop"]
            here = [one.layout.row_of[name] for name in names]
            there = [other.layout.row_of[name] for name in names]
            np.testing.assert_allclose(one.statistics[here], other.statistics[there], rtol=1e-12)
