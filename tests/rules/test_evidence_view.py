"""Each rule names what shows its findings: which numbers, of which tensors, at which steps."""

from __future__ import annotations

import pytest

from stepwatch.judge.evidence_view import (
    by_findings,
    declared_view,
    is_marked,
    layer_view,
    of_collection,
    rows_of,
    usual_view,
    view_of,
)
from stepwatch.judge.parameters import GROUP
from stepwatch.judge.rule import EvidenceView
from stepwatch.model.collection import SPECS
from stepwatch.model.finding import Finding
from stepwatch.numerics.statistics import DERIVED, FIELDS
from stepwatch.plugins import registry

KINDS = {
    "loss/mse": "losses",
    "fc.weight": "weights",
    "frozen.weight": "weights",
    "gradient/fc.weight": "gradients",
    "update_ratio/fc.weight": "updates",
    "output/relu": "outputs",
    "learning_rate/0": "learning_rates",
}


@pytest.mark.parametrize("rule", sorted(registry.names(GROUP)))
def test_what_a_rule_declares_can_be_drawn(rule):
    """Its collections and statistics are those that a run has."""
    declared = getattr(registry.load(GROUP, rule), "view", None) or {}
    views = declared.values() if isinstance(declared, dict) else [declared]

    assert not {one.collection for one in views} - {"", *SPECS}
    assert not {one.statistic for one in views} - {"", *FIELDS, *DERIVED}


@pytest.mark.parametrize(
    ("rule", "condition", "tensor", "collection", "statistic"),
    [
        ("dead_relu", "", "output/relu", "outputs", "zero_fraction"),
        ("vanishing_gradient", "below", "gradient/fc.weight", "gradients", "abs_mean"),
        ("untrained_parameter", "not_in_optimizer", "frozen.weight", "updates", "mean"),
        ("untrained_parameter", "zero_grad", "frozen.weight", "gradients", "l2"),
        ("step_size", "far_too_high", "loss/mse", "updates", "mean"),
        ("non_finite_origin", "non_finite", "output/relu", "outputs", "l2"),
        ("exploding_tensor", "non_finite", "gradient/fc.weight", "gradients", "l2"),
        ("loss_spike", "loss/mse spike", "loss/mse", "losses", "mean"),
        ("learning_rate_anomaly", "jump", "learning_rate/0", "learning_rates", "mean"),
        ("a_rule_of_mine", "", "fc.weight", "weights", "rms"),
    ],
)
def test_a_finding_opens_with_what_its_rule_judged(rule, condition, tensor, collection, statistic):
    """By its condition where one rule finds several things."""
    view = view_of(Finding(rule, 9, tensor, "m", condition=condition), KINDS)

    assert (collection, statistic) == (view.collection, view.statistic)


@pytest.mark.parametrize(
    ("rule", "condition", "tensor", "kind"),
    [
        ("setup", "recoded", "evaluation/recoded/x", "evaluations"),
        ("setup", "same_key", "setup/same_key/train_step", "setup"),
        ("training_mode", "eval_mode_in_training", "loop/modules_in_eval", "loop"),
    ],
)
def test_a_counter_shows_nothing_so_the_loss_does(rule, condition, tensor, kind):
    """It is a note for rules, which is 1 wherever it is."""
    view = view_of(Finding(rule, 9, tensor, "m", condition=condition), {**KINDS, tensor: kind})

    assert "losses" == view.collection


def test_a_finding_is_marked_at_the_loss_that_it_names():
    """By any of its tensors; one that names none is marked beside every loss."""
    kinds = {
        "loss/a": "losses",
        "loss/b": "losses",
        "spread/b": "classes",
        "prediction/b": "predictions",
    }
    named = [Finding("chance_level", 9, tensor, "m") for tensor in kinds if tensor.endswith("b")]
    other = Finding("untrained_parameter", 9, "fc.weight", "m")
    found = [
        [is_marked(one, name, kinds) for name in ("loss/a", "loss/b")] for one in (*named, other)
    ]

    assert [[False, True]] * 3 + [[True, True]] == found
    assert ["loss/b", "loss/a"] == by_findings(["loss/a", "loss/b"], named, kinds)
    assert ["loss/a", "loss/b"] == by_findings(["loss/a", "loss/b"], [other, *named], kinds)


def test_numbers_that_the_evidence_names_are_shown_first():
    """A rate that never changes shows nothing of what it does: the loss does."""
    finding = Finding("step_size", 9, "learning_rate/0", "", evidence={"loss/mse": [1.0, 9.0]})
    names = ["learning_rate/0", "loss/mae", "loss/mse"]

    assert ["loss/mse", "learning_rate/0", "loss/mae"] == by_findings(names, [finding], KINDS)
    assert is_marked(finding, "loss/mse", KINDS)


def test_several_of_one_rule_share_its_view():
    """Of ``overfit-2`` it is that of ``overfit``."""
    assert declared_view("overfit") == declared_view("overfit-2") != EvidenceView()


def test_a_view_spans_from_where_it_began_to_where_it_was_confirmed():
    """It names all that the finding is about, the worst first, by parameters and modules."""
    evidence = {"parameters": ["frozen.weight", "fc.weight"]}
    found = Finding("untrained_parameter", 9, "frozen.weight", "m", onset=0, evidence=evidence)
    view = view_of(found, KINDS)

    assert (0, 9, ("frozen.weight", "fc.weight")) == (view.first, view.last, view.tensors)


def test_what_was_not_captured_gives_way_to_what_was():
    """Of a run without update ratios it is the finding's own tensor."""
    kinds = {name: kind for name, kind in KINDS.items() if kind != "updates"}
    view = view_of(Finding("untrained_parameter", 9, "frozen.weight", "m"), kinds)

    assert of_collection("weights").collection == view.collection


def test_beneath_a_line_are_the_usual_layers_at_the_same_steps():
    """A loss is no row of a heat map."""
    lines = view_of(Finding("loss_spike", 9, "loss/mse", "m", onset=7), KINDS)
    layers = layer_view(lines, KINDS)

    assert "losses" == lines.collection
    assert ("gradients", "l2", 7, 9) == (
        layers.collection,
        layers.statistic,
        layers.first,
        layers.last,
    )


def test_an_empty_run_has_an_empty_view():
    """And one without findings that of its gradients."""
    assert "" == usual_view({}).collection
    assert "gradients" == usual_view(KINDS).collection


def test_update_ratios_have_a_healthy_band_on_a_logarithmic_scale():
    """Other statistics of them have none."""
    assert ("log10", (1e-4, 1e-2)) == (
        of_collection("updates").scale,
        of_collection("updates").band,
    )
    assert of_collection("updates", "max").band is None


def test_rows_are_found_by_parameter_and_what_has_none_is_named():
    """A gradient and a weight are about one parameter."""
    names = ["update_ratio/fc.weight", "update_ratio/head.weight"]

    assert (["update_ratio/fc.weight"], ["frozen.weight"]) == rows_of(
        names, ["frozen.weight", "fc.weight"]
    )
