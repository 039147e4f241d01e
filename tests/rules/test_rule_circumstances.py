"""What ``loss_not_decreasing`` says of why a loss does not fall."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.rules import StepView, Watch
from stepwatch.rules.circumstances import RawInputs, RawTargets
from tests.support.rules.rule_records import info, record, step_of
from tests.support.rules.rule_runs import judge

RNG = np.random.default_rng(0)


def reported(
    *,
    loss=lambda at: 1.0,
    gradient=lambda at: 1.0,
    update=0.01,
    prediction=1.0,
    depth=(),
    weight=lambda at: 0.1,
    loop=None,
    optimizer=None,
    states=None,
    setup=None,
):
    """Return the finding of a training whose loss is that at each step."""
    watch = Watch(["loss_not_decreasing:num_steps=30,smooth=5"])
    found = []
    for at in range(60):
        kinds = {"losses": {"loss/mse_loss": [loss(at)]}}
        if at < 20 or at % 10 == 0:  # the others are thin
            targets = RNG.normal(size=32)
            kinds |= {
                "weights": {"a": np.full((16, 16), weight(at))},
                "loop": loop or {},
                "optimizer": optimizer or {},
                "setup": setup or {},
                "optimizer_states": states or {},
                "gradients": {"gradient/a": [gradient(at), 0.0]}
                | {f"gradient/{size}": [[size]] for size in depth},
                "updates": {"update_ratio/a": [update]},
                "predictions": {"prediction/mse_loss": prediction * targets},
                "labels": {"label/mse_loss": targets},
            }
        found += watch.evaluate(step_of(kinds, at))
    return found[0]


def clips(before, after):
    """Return what is measured of gradients that are clipped."""
    return {
        "optimizer/gradient_norm_before_clipping": [before],
        "optimizer/gradient_norm_after_clipping": [after],
    }


CUT = clips(0.9, 1e-3)
BY_KERAS = {"optimizer/gradient_norm_before_clipping": [0.9], "optimizer/clipped_to": [1e-3]}
MOMENTUM = {"optimizer_state/a/momentum_buffer": [0.0, 0.0]}
ADAM = {"optimizer_state/a/exp_avg_sq": [0.0, 0.0], "optimizer_state/a/step": [1.0]}


@pytest.mark.parametrize(
    ("why", "training"),
    [
        ("clipped", {"update": 1e-8, "optimizer": CUT}),
        ("clipped", {"update": 1e-4, "optimizer": CUT, "states": MOMENTUM}),
        ("clipped", {"update": 1e-4, "optimizer": BY_KERAS}),
        ("slow", {"update": 1e-4, "optimizer": CUT, "states": ADAM}),
        ("slow", {"update": 1e-4, "optimizer": clips(0.9, 0.5), "states": MOMENTUM}),
        ("data", {"update": 1e-2, "optimizer": CUT, "states": MOMENTUM}),
        ("padding", {"setup": {"setup/padded_last/lstm": [0.9]}}),
        ("data", {"setup": {"setup/padded_last/lstm": [0.3]}}),
        ("still", {"update": 1e-8}),
        ("faded", {"gradient": lambda at: 1.0 if at == 0 else 1e-6}),
        ("fades", {"depth": (1e-9, 1e-5, 0.1)}),
        ("slow", {"update": 1e-4}),
        ("swings", {"loss": lambda at: 1.0 + 3 * (at % 2), "update": 0.2}),
        ("flat", {"prediction": 1e-3}),
        ("initialization", {"weight": lambda at: 10.0}),
        ("overshot", {"weight": lambda at: 0.1 if at < 3 else 10.0}),
        ("overshot", {"weight": lambda at: 1e-5 if at < 3 else 1.0}),
        ("data", {"weight": lambda at: 1e-5 * (1 + at)}),
        ("data", {"weight": lambda at: 1e-5 * 2 ** min(at, 8)}),
        ("shrinks", {"weight": lambda at: 0.1 * 0.98**at, "update": 0.02}),
        ("data", {"weight": lambda at: 0.1 * 0.98**at, "update": 0.08}),
        ("dropped", {"loop": {"loop/dropout": [0.9]}}),
        ("penalty", {"loop": {"loop/penalty": [0.9]}}),
        ("data", {"loop": {"loop/dropout": [0.5], "loop/penalty": [0.1]}}),
    ],
)
def test_what_is_measured_beside_it_is_the_reason(why, training):
    finding = reported(**training)

    assert why == finding.evidence["why"]
    assert "; " in finding.message


@pytest.mark.parametrize(("size", "why"), [(64, "untrained"), (4, "data")])
def test_that_most_of_a_model_is_frozen_is_a_reason(size, why):
    watch = Watch(["loss_not_decreasing:num_steps=30,smooth=5"])
    base, head = np.full((size, size), 0.1), np.full((16, 16), 0.1)
    found = []
    for at in range(60):
        tensors = [
            (info("base", "weights", base, trainable=False), base),
            (info("head", "weights", head, trainable=True), head),
            (info("gradient/head", "gradients", [1.0]), [1.0]),
            (info("update_ratio/head", "updates", [0.01]), [0.01]),
            (info("loss/mse_loss", "losses", 1.0), 1.0),
        ]
        found += watch.evaluate(StepView([record(tensors, step=at)]))

    assert [why] == [one.evidence["why"] for one in found]


def test_weights_of_two_models_that_step_in_turn_are_no_jump():
    """What is saved of a step are the weights of those that step in it."""
    watch = Watch(["loss_not_decreasing:num_steps=30,smooth=5"])
    found = []
    for at in range(60):
        weights = {"critic": np.full((4, 4), 0.1)}
        weights |= {"generator": np.full((64, 64), 0.1)} if at % 3 == 2 else {}
        tensors = [
            (info(name, "weights", one, trainable=True), one) for name, one in weights.items()
        ]
        tensors += [(info(f"gradient/{name}", "gradients", [1.0]), [1.0]) for name in weights]
        tensors += [
            (info("update_ratio/critic", "updates", [0.01]), [0.01]),
            (info("loss/mse_loss", "losses", 1.0), 1.0),
        ]
        found += watch.evaluate(StepView([record(tensors, step=at)]))

    assert ["data"] == [one.evidence["why"] for one in found]


def test_a_reason_that_is_clipping_says_from_which_norm_to_which():
    """With what to clip to instead."""
    finding = reported(update=1e-4, optimizer=CUT)

    assert "gradients are clipped from a norm of 0.9 to 0.001" in finding.message
    assert "clip to about 0.9" in finding.remedy


def test_a_training_of_which_only_the_loss_is_known_has_none():
    watch = Watch(["loss_not_decreasing:num_steps=30,smooth=5"])
    steps = (step_of({"losses": {"loss/mse_loss": [1.0]}}, at) for at in range(60))
    found = [finding for step in steps for finding in watch.evaluate(step)]

    assert ["why" in one.evidence for one in found] == [False]


@pytest.mark.parametrize(("growth", "verdicts"), [(0.0, ["rose"]), (0.05, [])])
def test_a_loss_may_rise_with_its_targets(growth, verdicts):
    """As that of a value does while a policy gets better."""
    watch = Watch(["loss_not_decreasing:num_steps=30,smooth=5"])
    found = []
    for at in range(60):
        targets = (1 + growth * at) * RNG.normal(size=256)
        kinds = {
            "losses": {"loss/mse_loss": [1.0 + 0.05 * at]},
            "gradients": {"gradient/a": [1.0]},
            "labels": {"label/mse_loss": targets},
        }
        found += watch.evaluate(step_of(kinds, at))

    assert verdicts == [one.evidence["verdict"] for one in found]


def first_step(size, made, *, layer="dense", weight="dense/kernel"):
    """Return a step of a model whose inputs, and what its first layer makes of them, are so large.

    Args:
        layer: The layer whose output it is.
        weight: The first matrix.
    """
    return step_of(
        {
            "batches": {"batch/0": np.full((4, 3), size)},
            "weights": {"normalization/mean": np.zeros(3), weight: np.full((3, 8), 0.1)},
            "outputs": {f"output/{layer}": np.full((4, 8), made)},
            "losses": {"loss/loss": 1.0},
        },
        0,
    )


class TestRawTargets:
    """As prices in dollars, and a model that begins at 0."""

    @pytest.mark.parametrize(
        ("predicted", "target", "is_raw"),
        [
            (100.0, 2e5, True),
            (-100.0, -2e5, True),
            (1.5e5, 2e5, False),  # it has come there
            (0.6, 2e5, False),  # as after a sigmoid
            (2.0, 5.0, False),
            (3e5, 2e5, False),  # it is beyond
        ],
    )
    def test_raw_targets_are_recognized_by_predictions_far_below_them(
        self, predicted, target, is_raw
    ):
        noise = RNG.normal(size=32)
        step = step_of(
            {
                "predictions": {"prediction/mse_loss": predicted * (1 + 0.01 * noise)},
                "labels": {"label/mse_loss": target * (1 + 0.1 * noise)},
            }
        )
        targets = RawTargets()
        targets.add(step, step.records[0])

        assert is_raw is (targets.reason is not None)

    @pytest.mark.parametrize(("target", "found"), [(2e5, []), (1.0, ["too_large"])])
    def test_weights_that_grow_to_reach_them_do_not_run_away(self, target, found):
        """A lower rate would make it worse."""
        watch, told = Watch(["step_size"]), []
        for at in range(150):
            kinds = {
                "losses": {"loss/mse_loss": [1.0]},
                "weights": {"w": np.full((4, 4), 1.0 + at)},
                "predictions": {"prediction/mse_loss": np.full(8, 20.0)},
                "labels": {"label/mse_loss": np.full(8, target)},
            }
            told += watch.evaluate(step_of(kinds, at))

        assert found == [one.condition for one in told if one.condition == "too_large"]


class TestRawInputs:
    @pytest.mark.parametrize(
        ("step", "found"),
        [
            (first_step(300.0, 190.0), True),
            (first_step(300.0, 190.0, layer="0", weight="0.weight"), True),
            (first_step(300.0, 1.0), False),  # a layer of the model scaled them
            (first_step(40.0, 3.5), False),
            (first_step(1.0, 4.0), False),
            (first_step(300.0, 190.0, layer="flatten"), False),  # of the first matrix nothing
        ],
    )
    def test_inputs_are_raw_if_what_the_first_layer_makes_of_them_is_as_large(self, step, found):
        inputs = RawInputs()
        inputs.add(step, step.records[0])

        assert found is bool(inputs.sentence)

    def test_only_the_first_step_counts(self):
        inputs = RawInputs()
        for step in (first_step(1.0, 1.0), first_step(300.0, 190.0)):
            inputs.add(step, step.records[0])

        assert "" == inputs.sentence

    def test_they_are_to_be_scaled_first(self):
        inputs = RawInputs()
        step = first_step(300.0, 190.0)
        inputs.add(step, step.records[0])

        assert "the inputs are not scaled, with a root mean square of 300" == inputs.sentence
        assert inputs.remedy("lower the learning rate").endswith("; then lower the learning rate")


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("is_scaled", [False, True])
def test_a_rate_that_is_too_high_for_raw_inputs_is_told_with_these(is_scaled, tmp_path):
    """By the columns of a table: one of some hundreds, others of about one."""

    def train():
        torch.manual_seed(0)
        x = torch.randn(64, 4) * torch.tensor([400.0, 1.0, 0.1, 5.0]) + 200
        y = (x[:, 0] > 200).float()[:, None]
        x = (x - x.mean(0)) / x.std(0) if is_scaled else x
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=10.0 if is_scaled else 0.01)
        for _ in range(40):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()

    findings, _ = judge(train, "step_size", tmp_path / "run")
    messages = [json.loads(one)["message"] for one in findings]

    assert messages
    assert is_scaled is not any("the inputs are not scaled" in one for one in messages)
