# ruff: noqa: UP032 - what was pasted stays as it stands
"""Rules of the real SDK, judged beside trainings: built-in ones, custom ones, and their actions."""

from __future__ import annotations

import shutil
import time

import boto3
import pytest
from sagemaker.debugger import (
    CollectionConfig,
    DebuggerHookConfig,
    ProfilerRule,
    Rule,
    rule_configs,
)
from sagemaker.s3 import S3Uploader

from tests.support.sagemaker.sdk.estimators import pytorch
from tests.support.sagemaker.served import SCRIPTS

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(400)]

#: Those that read tensors; XGBoost's last.
DEBUGGER_RULES = (
    *("vanishing_gradient", "weight_update_ratio", "loss_not_decreasing", "dead_relu"),
    *("poor_weight_initialization", "nlp_sequence_ratio", "check_input_images", "all_zero"),
    *(
        "exploding_tensor",
        "unchanged_tensor",
        "similar_across_runs",
        "class_imbalance",
        "confusion",
    ),
    *(
        "overfit",
        "overtraining",
        "tensor_variance",
        "saturated_activation",
        "stalled_training_rule",
    ),
    *("feature_importance_overweight", "tree_depth", "create_xgboost_report"),
)
PROFILER_RULES = (
    *("BatchSize", "CPUBottleneck", "GPUMemoryIncrease", "IOBottleneck", "LoadBalancing"),
    *("LowGPUUtilization", "MaxInitializationTime", "StepOutlier", "OverallSystemUsage"),
    "ProfilerReport",
)
EVERY_STEP = {"save_interval": "1"}
SAVED = [CollectionConfig(name, EVERY_STEP) for name in ("losses", "gradients", "weights")]
STATUSES = {"NoIssuesFound", "IssuesFound", "Error"}
#: Said where another run is to be compared with, and is not there.
RUN_ABSENT = "INTERNAL: RunNotFound: no run at s3://"


def summary(estimator):
    """Return the status of each rule by name, and what is said of it, when all have judged."""
    entries = estimator.latest_training_job.rule_job_summary()
    return {
        one["RuleConfigurationName"]: (one["RuleEvaluationStatus"], one.get("StatusDetails", ""))
        for one in entries
    }


def judged(place, ended, rules, *, collections=SAVED, ends="Completed", **hyperparameters):
    """Train with rules beside it; return what became of them, and the job's description."""
    estimator = pytorch(
        place,
        rules=rules,
        debugger_hook_config=DebuggerHookConfig(place, collection_configs=collections),
        hyperparameters=hyperparameters,
    )
    estimator.fit(wait=False)
    found = ended(estimator.latest_training_job.name, ends)
    return summary(estimator), found


class TestBuiltInRules:
    @pytest.mark.parametrize("half", [DEBUGGER_RULES[:11], DEBUGGER_RULES[11:]], ids=["1", "2"])
    def test_every_one_of_the_catalogue_is_judged(self, place, ended, half):
        """Each ends; one whose evidence was not saved says so, and none is silently green."""
        told = {
            "similar_across_runs": {
                "other_trials_s3_input_paths": [f"{place}/nobody/debug-output"]
            },
            "class_imbalance": {"rule_parameters": {"argmax": "False"}},
        }
        rules = [
            Rule.sagemaker(getattr(rule_configs, name)(), **told.get(name, {})) for name in half
        ]
        statuses, found = judged(place, ended, rules, steps=30)

        assert [rule.name for rule in rules] == [*statuses]
        assert {status for status, _ in statuses.values()} <= STATUSES
        for status, details in statuses.values():
            if status == "Error":
                assert details.startswith(("NOT_EVALUATED: ", "CONFIG: ", RUN_ABSENT)), details
        assert [rule.name for rule in rules] == [
            one["RuleParameters"]["rule_to_invoke"] for one in found["DebugRuleConfigurations"]
        ]

    def test_a_healthy_training_has_no_issues(self, place, ended):
        """Three rules that had their evidence say so."""
        names = ("vanishing_gradient", "exploding_tensor", "all_zero")
        told = {
            "exploding_tensor": {"collection_names": "losses"},
            "all_zero": {"collection_names": "gradients"},
        }
        rules = [
            Rule.sagemaker(getattr(rule_configs, name)(), rule_parameters=told.get(name))
            for name in names
        ]
        statuses, _ = judged(place, ended, rules, steps=20)

        assert {"NoIssuesFound"} == {status for status, _ in statuses.values()}, statuses

    def test_a_fault_is_found_with_its_step(self, place, ended):
        """In the words of Debugger, and of the name that the user gave."""
        exploding = Rule.sagemaker(
            rule_configs.exploding_tensor(),
            name="mine",
            rule_parameters={"collection_names": "losses"},
        )
        statuses, _ = judged(place, ended, [exploding], steps=12, spoil=7)

        status, details = statuses["mine"]
        assert "IssuesFound" == status
        assert details.startswith(
            "RuleEvaluationConditionMet: Evaluation of the rule ExplodingTensor at step 7"
            " resulted in the condition being met"
        )

    def test_a_rule_brings_what_is_saved_for_it(self, place, ended):
        """Without a hook configuration; those of several rules are joined by name."""
        rules = [
            Rule.sagemaker(rule_configs.vanishing_gradient()),
            Rule.sagemaker(rule_configs.weight_update_ratio(), rule_parameters={"num_steps": "1"}),
        ]
        estimator = pytorch(place, rules=rules, hyperparameters={"steps": 3})
        estimator.fit(wait=False)
        found = ended(estimator.latest_training_job.name)
        saved = found["DebugHookConfig"]["CollectionConfigurations"]

        assert {"gradients", "weights"} == {one["CollectionName"] for one in saved}
        assert "NoIssuesFound" == summary(estimator)["VanishingGradient"][0]

    def test_a_parameter_that_a_rule_has_not_is_an_error_of_that_rule(self, place, ended):
        """Named; the training and the other rules go on."""
        rules = [
            Rule.sagemaker(
                base_config=rule_configs.weight_update_ratio(),
                name="custom_wup_rule_name",
                rule_parameters={"key1": "value1", "key2": "value2"},
                collections_to_save=[
                    CollectionConfig("custom_collection_name", {"key1": "value1", "key2": "value2"})
                ],
            ),
            Rule.sagemaker(rule_configs.vanishing_gradient()),
        ]
        statuses, _ = judged(place, ended, rules, steps=5)
        status, details = statuses["custom_wup_rule_name"]

        assert ("Error", True) == (status, "key1" in details), details
        assert "NoIssuesFound" == statuses["VanishingGradient"][0]

    def test_statuses_are_live(self, place, ended):
        """A rule is in progress while it judges, and has issues before the training ends."""
        exploding = Rule.sagemaker(
            rule_configs.exploding_tensor(), rule_parameters={"collection_names": "losses"}
        )
        estimator = pytorch(
            place,
            rules=[exploding],
            debugger_hook_config=DebuggerHookConfig(place, collection_configs=SAVED),
            hyperparameters={"steps": 10_000, "pause": 0.05, "spoil": 20},
        )
        estimator.fit(wait=False)
        job = estimator.latest_training_job
        seen = []
        while not seen or seen[-1] != ("InProgress", "IssuesFound"):
            (entry,) = job.rule_job_summary()
            seen.append((job.describe()["TrainingJobStatus"], entry["RuleEvaluationStatus"]))
            assert "InProgress" == seen[-1][0], job.describe()
            time.sleep(0.2)
        job.stop()
        ended(job.name, "Stopped")

        assert ("InProgress", "InProgress") == seen[0]


class TestCustomRules:
    @pytest.mark.parametrize("where", ["local", "s3"])
    def test_its_class_is_loaded_from_its_source(self, client, place, ended, where):
        """A local file, which the SDK uploads, or one that is on S3 already."""
        source = "rules/custom_gradient_rule.py"
        if where == "s3":
            source = S3Uploader.upload(str(SCRIPTS / "custom_gradient_rule.py"), f"{place}/rules")
        else:
            (client / "rules").mkdir()
            shutil.copy(SCRIPTS / "custom_gradient_rule.py", client / source)
        region = "us-east-1"
        custom_gradient_rule = Rule.custom(
            name="MyCustomRule",
            image_uri="864354269164.dkr.ecr.{}.amazonaws.com/sagemaker-debugger-rule-evaluator:latest".format(
                region
            ),
            instance_type="ml.t3.medium",
            source=source,
            rule_to_invoke="CustomGradientRule",
            volume_size_in_gb=30,
            collections_to_save=[CollectionConfig("gradients")],
            rule_parameters={"threshold": "20.0"},
        )
        statuses, _ = judged(place, ended, [custom_gradient_rule], collections=[], steps=3)

        assert "IssuesFound" == statuses["MyCustomRule"][0], statuses
        assert "at step 0" in statuses["MyCustomRule"][1]

    def test_one_that_is_broken_harms_nobody(self, place, ended, tmp_path):
        """It is an error with its reason; the other rule and the training end well."""
        broken = tmp_path / "broken.py"
        broken.write_text("from smdebug.rules.rule import Rule\nclass Broken(Rule):\n    1 / 0\n")
        rules = [
            Rule.custom(
                name="broken", image_uri="any", instance_type="ml.t3.medium", source=str(broken),
                rule_to_invoke="Broken", volume_size_in_gb=30,
            ),
            Rule.sagemaker(rule_configs.vanishing_gradient()),
        ]  # fmt: skip
        statuses, _ = judged(place, ended, rules, steps=5)

        assert "Error" == statuses["broken"][0]
        assert "division by zero" in statuses["broken"][1]
        assert "NoIssuesFound" == statuses["VanishingGradient"][0]


class TestActions:
    def test_a_finding_stops_this_very_job(self, place, ended):
        """``StopTraining`` without a prefix means the job that the rule belongs to."""
        exploding = Rule.sagemaker(
            rule_configs.exploding_tensor(),
            rule_parameters={"collection_names": "losses"},
            actions=rule_configs.ActionList(rule_configs.StopTraining()),
        )
        statuses, found = judged(
            place, ended, [exploding], steps=10_000, pause=0.05, spoil=10, ends="Stopped"
        )

        assert "IssuesFound" == statuses["ExplodingTensor"][0]
        assert "Stopped" == found["SecondaryStatus"]


class TestProfilerRules:
    def test_every_one_of_the_catalogue_ends(self, place, ended):
        """With a verdict, or with the reason why there is none; the training is unharmed."""
        rules = [ProfilerRule.sagemaker(getattr(rule_configs, name)()) for name in PROFILER_RULES]
        statuses, found = judged(place, ended, rules, steps=5)

        assert {*PROFILER_RULES} == {*statuses}
        assert {status for status, _ in statuses.values()} <= STATUSES
        assert {*PROFILER_RULES} == {
            one["RuleConfigurationName"] for one in found["ProfilerRuleConfigurations"]
        }
        assert all(details for status, details in statuses.values() if status == "Error")


class TestProcessingJobs:
    def test_each_rule_is_one(self, place, ended):
        """Its ARN leads to a processing job, which says the same."""
        _, found = judged(
            place, ended, [Rule.sagemaker(rule_configs.vanishing_gradient())], steps=3
        )
        (entry,) = found["DebugRuleEvaluationStatuses"]
        name = entry["RuleEvaluationJobArn"].rpartition("/")[2]
        described = boto3.client("sagemaker").describe_processing_job(ProcessingJobName=name)

        assert entry["RuleEvaluationJobArn"] == described["ProcessingJobArn"]
        assert "Completed" == described["ProcessingJobStatus"]
        assert found["TrainingJobName"][:26].lower() == name[:26]
