"""The configurations of rules are those of SageMaker's package."""

from __future__ import annotations

import json

import pytest

import smdebug_rulesconfig as rule_configs
from smdebug_rulesconfig.debugger_rules._ruleGroups import PYTORCH, XGBOOST, get_rule_groups
from stepwatch.errors import ConfigError


def collection(name, **parameters):
    """Return the configuration of a collection."""
    return {"CollectionName": name, "CollectionParameters": parameters}


EVERY_500 = {"save_interval": "500"}
#: Of every function: the rule, and what it wants to be saved.
RULES = {
    "vanishing_gradient": ("VanishingGradient", [collection("gradients", **EVERY_500)]),
    "weight_update_ratio": ("WeightUpdateRatio", [collection("weights", **EVERY_500)]),
    "loss_not_decreasing": ("LossNotDecreasing", [collection("losses", **EVERY_500)]),
    "dead_relu": (
        "DeadRelu",
        [collection("relu_output", include_regex=".*relu_output", **EVERY_500)],
    ),
    "poor_weight_initialization": (
        "PoorWeightInitialization",
        [collection("relu_input", include_regex=".*relu_input", **EVERY_500)],
    ),
    "nlp_sequence_ratio": (
        "NLPSequenceRatio",
        [collection("input_sequence", include_regex=".*embedding0_input_0", **EVERY_500)],
    ),
    "check_input_images": (
        "CheckInputImages",
        [collection("input_image", include_regex=".*hybridsequential0_input_0", **EVERY_500)],
    ),
    "feature_importance_overweight": (
        "FeatureImportanceOverweight",
        [collection("feature_importance", **EVERY_500)],
    ),
    "create_xgboost_report": (
        "CreateXgboostReport",
        [
            collection("metrics", save_interval="5"),
            collection("feature_importance", save_interval="5"),
            collection("hyperparameters", save_steps="0"),
            collection("predictions", save_interval="5"),
            collection("labels", save_interval="5"),
        ],
    ),
    "all_zero": ("AllZero", None),
    "exploding_tensor": ("ExplodingTensor", None),
    "unchanged_tensor": ("UnchangedTensor", None),
    "similar_across_runs": ("SimilarAcrossRuns", None),
    "tree_depth": ("TreeDepth", None),
    "class_imbalance": ("ClassImbalance", None),
    "confusion": ("Confusion", None),
    "overfit": ("Overfit", None),
    "overtraining": ("Overtraining", None),
    "tensor_variance": ("TensorVariance", None),
    "saturated_activation": ("SaturatedActivation", None),
    "stalled_training_rule": ("StalledTrainingRule", None),
}
SCAN = {"scan_interval_us": 60_000_000}
#: Of every class: the parameters that it has by default.
PROFILER_RULES = {
    "BatchSize": {
        "cpu_threshold_p95": 70,
        "gpu_threshold_p95": 70,
        "gpu_memory_threshold_p95": 70,
        "patience": 1000,
        "window": 500,
    },
    "CPUBottleneck": {
        "threshold": 50,
        "gpu_threshold": 10,
        "cpu_threshold": 90,
        "patience": 1000,
    },
    "Dataloader": {"min_threshold": 70, "max_threshold": 200},
    "GPUMemoryIncrease": {"increase": 5, "patience": 1000, "window": 10},
    "IOBottleneck": {"threshold": 50, "gpu_threshold": 10, "io_threshold": 50, "patience": 1000},
    "LoadBalancing": {"threshold": 0.5, "patience": 1000},
    "LowGPUUtilization": {
        "threshold_p95": 70,
        "threshold_p5": 10,
        "window": 500,
        "patience": 1000,
    },
    "MaxInitializationTime": {"threshold": 20},
    "OverallFrameworkMetrics": {},
    "OverallSystemUsage": {},
    "StepOutlier": {"stddev": 3, "mode": None, "n_outliers": 10},
}


class TestDebuggerRules:
    @pytest.mark.parametrize("function", RULES)
    def test_a_configuration(self, function):
        """Name, parameters, and what is to be saved where the rule says it."""
        name, collections = RULES[function]
        expected = {
            "DebugRuleConfiguration": {
                "RuleConfigurationName": name,
                "RuleParameters": {"rule_to_invoke": name},
            }
        }
        if collections:
            expected["CollectionConfigurations"] = collections

        assert expected == getattr(rule_configs, function)()

    def test_each_call_makes_a_new_one(self):
        """Changing one leaves the next alone."""
        rule_configs.dead_relu()["CollectionConfigurations"][0]["CollectionParameters"].clear()

        assert (
            EVERY_500.items()
            <= rule_configs.dead_relu()["CollectionConfigurations"][0][
                "CollectionParameters"
            ].items()
        )

    def test_a_collection_by_name(self):
        """Also those that came without their name; others are ``None``."""
        assert (collection("relu_input", include_regex=".*relu_input", **EVERY_500), None) == (
            rule_configs.get_collection("relu_input"),
            rule_configs.get_collection("biases"),
        )

    @pytest.mark.parametrize(
        ("group", "expected"),
        [
            (PYTORCH.SIMPLE, ["VanishingGradient", "LossNotDecreasing", "WeightUpdateRatio"]),
            (XGBOOST.SIMPLE, ["TreeDepth", "ClassImbalance"]),
        ],
    )
    def test_a_group(self, group, expected):
        """The rules to begin with."""
        configs = get_rule_groups(group)

        assert expected == [
            config["DebugRuleConfiguration"]["RuleConfigurationName"] for config in configs
        ]


class TestProfilerRules:
    @pytest.mark.parametrize("name", PROFILER_RULES)
    def test_defaults(self, name):
        """Those that ran."""
        made = getattr(rule_configs, name)()
        expected = {**PROFILER_RULES[name], **SCAN, "rule_to_invoke": name}

        assert (name, expected) == (made.rule_name, made.rule_parameters)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: rule_configs.LowGPUUtilization(threshold_p95=101),
            lambda: rule_configs.LowGPUUtilization(patience=0),
            lambda: rule_configs.CPUBottleneck(gpu_threshold=-1),
            lambda: rule_configs.CPUBottleneck(scan_interval_us="60"),
            lambda: rule_configs.MaxInitializationTime(threshold=float("nan")),
            lambda: rule_configs.StepOutlier(mode=3),
            lambda: rule_configs.BatchSize(window=True),
            lambda: rule_configs.ProfilerReport(threshold=1),
            lambda: rule_configs.ProfilerReport(nosuch_threshold=1),
            lambda: rule_configs.ProfilerReport(CPUBottleneck_threshold=101),
        ],
    )
    def test_what_cannot_be_meant(self, make):
        """It is an assertion, as it was, and an error of configuration."""
        with pytest.raises(AssertionError) as caught:
            make()

        assert isinstance(caught.value, ConfigError)

    def test_an_unknown_parameter_of_a_report(self):
        """It is a type error, which names those that there are."""
        with pytest.raises(TypeError, match="it has threshold, gpu_threshold"):
            rule_configs.ProfilerReport(cpubottleneck_treshold=1)

    def test_the_parameters_of_a_report(self):
        """As they were typed, in any case; a switch for telemetry means nothing."""
        made = rule_configs.ProfilerReport(
            CPUBottleneck_threshold=60, iobottleneck_patience=9, opt_out_telemetry=True
        )

        assert {
            "CPUBottleneck_threshold": 60,
            "iobottleneck_patience": 9,
            "rule_to_invoke": "ProfilerReport",
        } == made.rule_parameters


class TestActions:
    def test_one(self):
        """As JSON that can be read as it is."""
        serialized = rule_configs.StopTraining("My-Job1").serialize()

        assert {"name": "stoptraining", "training_job_prefix": "My-Job1"} == json.loads(serialized)

    def test_several(self):
        """As a list, in order."""
        actions = rule_configs.ActionList(
            rule_configs.SMS("+4915112345678"), rule_configs.Email("a@b.org")
        )

        assert [
            {"name": "sms", "endpoint": "+4915112345678"},
            {"name": "email", "endpoint": "a@b.org"},
        ] == json.loads(actions.serialize())

    @pytest.mark.parametrize("address", ["a.b@x.com", "A@x.com", "ab+c@mail.x-y.museum"])
    def test_addresses(self, address):
        """All that a mail server takes."""
        assert address == rule_configs.Email(address).action_parameters["endpoint"]

    @pytest.mark.parametrize(
        "make",
        [
            lambda: rule_configs.Email("nobody"),
            lambda: rule_configs.Email("a@b"),
            lambda: rule_configs.SMS("0151"),
            lambda: rule_configs.SMS("+1234567890123456"),
            lambda: rule_configs.StopTraining("a_b"),
            lambda: rule_configs.StopTraining(""),
            lambda: rule_configs.StopTraining(3),
        ],
    )
    def test_what_cannot_be_meant(self, make):
        """A value error, as it was."""
        with pytest.raises(ValueError, match="must"):
            make()

    def test_what_is_no_action(self):
        """In a list."""
        with pytest.raises(TypeError, match="holds StopTraining, Email and SMS, got 3"):
            rule_configs.ActionList(3)

    def test_the_job_is_filled_in(self):
        """Where no prefix was given; other actions do not mind."""
        stop, named = rule_configs.StopTraining(), rule_configs.StopTraining("mine")
        for action in (rule_configs.ActionList(stop, named), rule_configs.Email("a@b.org")):
            action.update_training_job_prefix_if_not_specified("job-1")
        found = [one.action_parameters["training_job_prefix"] for one in (stop, named)]

        assert ["job-1", "mine"] == found

    @pytest.mark.parametrize(
        ("what", "expected"),
        [(rule_configs.StopTraining(), True), (rule_configs.ActionList(), True), (None, False)],
    )
    def test_what_may_stand_as_actions(self, what, expected):
        """One, or a list."""
        assert expected == rule_configs.is_valid_action_object(what)

    def test_every_public_name_is_there(self):
        """``__all__`` holds what can be imported."""
        assert all(hasattr(rule_configs, name) for name in rule_configs.__all__)
