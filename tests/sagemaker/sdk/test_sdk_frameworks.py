"""Estimators of other frameworks: each trains a script of its own, with the Python that has it."""

from __future__ import annotations

import boto3
import pytest
from sagemaker.debugger import CollectionConfig, DebuggerHookConfig, Rule, rule_configs
from sagemaker.s3 import S3Downloader
from sagemaker.tensorflow import TensorFlow
from sagemaker.xgboost import XGBoost

from smdebug.trials import create_trial
from tests.support.sagemaker.sdk.estimators import COMMON
from tests.support.sagemaker.served import pythons, serve

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One that trains with the Python of the framework whose image an estimator names."""
    yield from serve(tmp_path_factory.mktemp("server"), *pythons("tensorflow", "xgboost:1.7"))


def hook(place, *collections):
    """Return a configuration that saves collections at every fifth step."""
    parameters = {"save_interval": "5"}
    return DebuggerHookConfig(
        s3_output_path=f"{place}/hook",
        hook_parameters=parameters,
        collection_configs=[CollectionConfig(name) for name in collections],
    )


def printed(job):
    """Return all that a job printed."""
    logs, group = boto3.client("logs"), {"logGroupName": "/aws/sagemaker/TrainingJobs"}
    (stream,) = logs.describe_log_streams(**group, logStreamNamePrefix=f"{job}/")["logStreams"]
    name = stream["logStreamName"]
    events = logs.get_log_events(**group, logStreamName=name, startFromHead=True)["events"]
    return "\n".join(event["message"] for event in events)


def test_tensorflow(place, ended):
    """A model of Keras is fitted; its losses and weights are read, its last loss is told."""
    estimator = TensorFlow(
        **COMMON | {"entry_point": "train_tensorflow.py"},
        framework_version="2.12",
        py_version="py310",
        output_path=f"{place}/out",
        hyperparameters={"epochs": 3},
        metric_definitions=[{"Name": "train:loss", "Regex": r"loss = (\S+);"}],
        debugger_hook_config=hook(place, "losses", "weights"),
        rules=[Rule.sagemaker(rule_configs.exploding_tensor())],
    )
    estimator.fit(wait=False)
    job = estimator.latest_training_job.name
    found = ended(job)
    trial = create_trial(estimator.latest_job_debugger_artifacts_path())

    assert "TensorFlow 2." in printed(job)
    assert {0, 5, 10, 15} <= set(trial.steps())
    assert ["loss"] == trial.tensor_names(collection="losses")
    (kernel,) = trial.tensor_names(collection="weights")
    assert (4, 1) == trial.tensor(kernel).value(5).shape
    (metric,) = found["FinalMetricDataList"]
    assert "train:loss" == metric["MetricName"]
    assert f"loss = {metric['Value']:.4f};" == printed(job).strip().splitlines()[-1]
    (status,) = estimator.latest_training_job.rule_job_summary()
    assert "NoIssuesFound" == status["RuleEvaluationStatus"]
    assert f"{place}/out/{job}/output/model.tar.gz" in S3Downloader.list(f"{place}/out/{job}")


def test_xgboost(place, ended):
    """Trees are boosted; their metric and what their features are worth are read."""
    estimator = XGBoost(
        **COMMON | {"entry_point": "train_xgboost.py"},
        framework_version="1.7-1",
        py_version="py3",
        output_path=f"{place}/out",
        hyperparameters={"num_round": 12, "eta": 0.4},
        metric_definitions=[{"Name": "train:rmse", "Regex": r"train-rmse:(\S+)"}],
        debugger_hook_config=hook(place, "metrics", "feature_importance"),
    )
    estimator.fit(wait=False)
    job = estimator.latest_training_job.name
    (metric,) = ended(job)["FinalMetricDataList"]
    trial = create_trial(estimator.latest_job_debugger_artifacts_path())

    assert "XGBoost 1.7" in printed(job)
    assert [0, 5, 10] == trial.steps()
    errors = [float(trial.tensor("train-rmse").value(step)[0]) for step in trial.steps()]
    assert errors[0] > errors[1] > errors[2] > metric["Value"] > 0
    assert "feature_importance/gain/f0" in trial.tensor_names(collection="feature_importance")
