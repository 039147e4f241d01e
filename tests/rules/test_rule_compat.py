"""Rules as SageMaker configures them."""

from __future__ import annotations

import inspect

import pytest

from stepwatch.errors import ConfigError
from stepwatch.judge.parameters import build, find_rule
from stepwatch.plugins.registry import names
from stepwatch.rules import RuleStatus, Watch, parse_rules
from stepwatch.rules.compat import compat_message, compat_name, compat_rule, compat_status
from stepwatch.testing import make_run

#: Rules of SageMaker: name, parameters as it documents them, and their defaults.
DOCUMENTED = {
    "VanishingGradient": {"threshold": 1e-7},
    "ExplodingTensor": {"collection_names": (), "tensor_regex": (), "only_nan": False,
                        "exclude_regex": None},
    "AllZero": {"threshold": 100},
    "UnchangedTensor": {"num_steps": 3, "rtol": 1e-5, "atol": 1e-8, "equal_nan": False},
    "TensorVariance": {"max_threshold": None, "min_threshold": None},
    "WeightUpdateRatio": {"num_steps": None, "large_threshold": 10, "small_threshold": 1e-8,
                          "epsilon": 1e-9},
    "DeadRelu": {"threshold_inactivity": 1, "threshold_layer": 50,
                 "tensor_regex": (".*relu_output",)},
    "SaturatedActivation": {"threshold_tanh_min": -9.4999, "threshold_tanh_max": 9.4999,
                            "threshold_sigmoid_min": -23, "threshold_sigmoid_max": 16.99999,
                            "threshold_inactivity": 1, "threshold_layer": 50,
                            "tensor_regex": (".*tanh_input|.*sigmoid_input",)},
    "LossNotDecreasing": {"use_losses_collection": True, "num_steps": 10, "diff_percent": 0.1,
                          "increase_threshold_percent": 5, "mode": None},
    "Overfit": {"start_step": 0, "patience": 1, "ratio_threshold": 0.1},
    "Overtraining": {"patience_train": 5, "patience_validation": 10, "delta": 0.01},
    "PoorWeightInitialization": {"threshold": 10, "distribution_range": 0.001, "patience": 5,
                                 "steps": 10, "activation_inputs_regex": (".*relu_input",)},
    "ClassImbalance": {"threshold_imbalance": 10, "threshold_misprediction": 0.7, "samples": 500,
                       "argmax": False, "labels_regex": ".*labels",
                       "predictions_regex": ".*predictions"},
    "Confusion": {"category_no": None, "labels": "labels", "predictions": "predictions",
                  "labels_collection": "labels", "predictions_collection": "predictions",
                  "min_diag": 0.9, "max_off_diag": 0.1},
    "SimilarAcrossRuns": {"collection_names": (), "tensor_regex": ()},
    "StalledTrainingRule": {"threshold": 1800, "stop_training_on_fire": False,
                            "training_job_name_prefix": None},
    "CheckInputImages": {"threshold_mean": 0.2, "threshold_samples": 500, "channel": 1,
                         "regex": ".*hybridsequential0_input_0"},
    "NLPSequenceRatio": {"tensor_regex": (".*embedding0_input_0",), "token_values": ("0",),
                         "token_thresholds_percent": ("50",)},
    "FeatureImportanceOverweight": {"threshold": 0.8, "nfeatures": 3,
                                    "tensor_regex": (".*feature_importance/weight",)},
    "TreeDepth": {"depth": 4},
}  # fmt: skip

#: What a rule cannot be built without.
NEEDED = {
    "AllZero": {"collection_names": "weights"},
    "UnchangedTensor": {"collection_names": "weights,biases"},
    "TensorVariance": {"tensor_regex": ".*", "max_threshold": "10"},
}


@pytest.mark.parametrize("rule", DOCUMENTED)
def test_every_documented_parameter_has_the_documented_default(rule):
    """In the compat profile; its name is the one that SageMaker calls it by."""
    kind = find_rule(rule)
    own = {p.name: p.default for p in inspect.signature(kind).parameters.values()}
    assert DOCUMENTED[rule] == {name: (own | dict(kind.compat))[name] for name in DOCUMENTED[rule]}
    assert rule == kind.__name__


@pytest.mark.parametrize(
    "spelling",
    ["stalled_training", "stalled_training_rule", "StalledTrainingRule", "STALLED-TRAINING"],
)
def test_a_rule_may_be_called_a_rule(spelling):
    """SageMaker does so with one of them."""
    assert "stalled_training" == find_rule(spelling).name


@pytest.mark.parametrize("rule", sorted(DOCUMENTED.keys() - {"SimilarAcrossRuns"}))
def test_every_rule_is_built_from_texts(rule):
    """All parameters arrive as texts."""
    watched = compat_rule("mine", {"rule_to_invoke": rule, **NEEDED.get(rule, {})})
    scope = watched.scope
    assert ("mine", rule) == (watched.name, compat_name(watched))
    assert ("compat", "stop") == (scope.profile, scope.on_fire)


@pytest.mark.parametrize("rule", names("stepwatch.rules"))
def test_the_compat_profile_names_parameters_that_there_are(rule):
    kind = find_rule(rule)
    given = {"SimilarAcrossRuns": {"other_trials": make_run(f"memory://{rule}", steps=1)}}
    needed = NEEDED.get(kind.__name__, given.get(kind.__name__, {}))
    assert "compat" == build(rule, {"profile": "compat", **needed}).scope.profile


def test_what_the_user_says_counts_more_than_the_profile():
    (watched,) = parse_rules("overtraining:profile=compat,unit=round,on_fire=continue")
    assert ("round", "either", "continue") == (
        watched.rule.unit, watched.rule.combine, watched.scope.on_fire)  # fmt: skip


def test_other_trials_come_numbered():
    """In the order of their numbers, and the run itself is not among them."""
    urls = [make_run(f"memory://numbered/{number}", steps=1) for number in range(11)]
    parameters = {f"other_trial_{number}": url for number, url in enumerate(urls)}
    watched = compat_rule("SimilarAcrossRuns", {"base_trial": "memory://ignored", **parameters})
    assert urls == [other.url for other in watched.rule._others]


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"rule_to_invoke": "VanishingGradients"}, "did you mean vanishing_gradient"),
        ({"rule_to_invoke": "VanishingGradient", "treshold": "1"}, "did you mean threshold"),
        ({"rule_to_invoke": "VanishingGradient", "threshold": "low"}, "must be a number"),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_named(parameters, told):
    with pytest.raises(ConfigError, match=f"rule configuration 'mine': .*{told}"):
        compat_rule("mine", parameters)


@pytest.mark.parametrize(
    ("status", "details", "expected"),
    [
        ("InProgress", "", ("InProgress", "")),
        ("NoIssuesFound", "5 evaluations", ("NoIssuesFound", "5 evaluations")),
        ("IssuesFound", "too small", ("IssuesFound", "too small")),
        ("NotEvaluated", "no loss", ("Error", "NOT_EVALUATED: no loss")),
        ("Error", "ConfigError: bad", ("Error", "CONFIG: ConfigError: bad")),
        ("Error", "KeyError: 'x'", ("Error", "INTERNAL: KeyError: 'x'")),
        ("Stopped", "last step 3", ("Stopped", "last step 3")),
    ],
)
def test_statuses_are_those_of_sagemaker(status, details, expected):
    """A rule that never judged is never green."""
    assert expected == compat_status(RuleStatus("r", status, 0, 0, details))


def test_details_are_as_long_as_they_may_be():
    assert 1024 == len(compat_status(RuleStatus("r", "IssuesFound", 1, 1, "x" * 5000))[1])


def test_the_message_names_rule_and_step():
    assert "the rule TreeDepth at step 7 " in compat_message("TreeDepth", 7)


def test_a_finding_of_a_configured_rule_goes_by_its_name():
    from tests.support.rules.made_steps import full_step

    watched = compat_rule("deep", {"rule_to_invoke": "TensorVariance", "tensor_regex": "w",
                                   "max_threshold": "1"})  # fmt: skip
    engine = Watch([watched])
    (finding,) = engine.evaluate(full_step({"weights": {"w": [-5.0, 5.0]}}))
    assert "deep" == finding.rule
    assert [] == engine.evaluate(full_step({"weights": {"w": [-5.0, 5.0]}}, 900))  # it has ended
