"""Reports as rules of SageMaker: by its names and parameters, with its files."""

from __future__ import annotations

import json

import pytest

from stepwatch.errors import ConfigError
from stepwatch.rules import Watch, watch
from stepwatch.rules.compat import compat_rule
from tests.support.report.boosted_runs import boosted_run
from tests.support.report.profiled_runs import profiled_run

np = pytest.importorskip("numpy")

ASKED = {
    "rule_to_invoke": "ProfilerReport",
    "opt_out_telemetry": "True",
    "LowGPUUtilization_patience": "10",
    "cpubottleneck_Threshold": "30",
}


@pytest.fixture(scope="module")
def idle():
    """A profiled run whose GPU is hardly used."""
    return profiled_run("memory://idle-gpu", gpus=(("gpu0", 20.0),))


class TestProfilerReport:
    def test_parameters_go_to_their_rules(self):
        """Whatever the case of the rule; the switch against telemetry says nothing."""
        watched = compat_rule("ProfilerReport-1600000000", ASKED)

        assert "ProfilerReport-1600000000" == watched.name
        assert ("LowGPUUtilization_patience=10", "cpubottleneck_Threshold=30") == (
            watched.rule.rule_parameters
        )

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("CPUBottleneck_treshold", "no parameter 'treshold'"),
            ("NoSuchRule_threshold", "no parameter 'NoSuchRule_threshold'"),
        ],
    )
    def test_a_wrong_parameter_is_refused(self, name, why):
        """With what would be right."""
        with pytest.raises(ConfigError, match=why):
            compat_rule("ProfilerReport", {name: "1"})

    def test_a_text_without_a_rule_is_refused(self):
        """In our own words, too."""
        with pytest.raises(ConfigError, match="must be Rule_parameter=value"):
            Watch(["profiler_report:rule_parameters=threshold"])

    def test_what_its_rules_find_it_finds(self, idle):
        """It goes on after the first finding, and says which rule it was."""
        engine = Watch([compat_rule("mine", ASKED)])

        findings = list(watch(idle, engine, follow=False))

        assert any(one.message.startswith("low_gpu_utilization: ") for one in findings)
        assert {"mine"} == {one.rule for one in findings}
        assert ["IssuesFound"] == [status.status for status in engine.statuses()]

    @pytest.mark.slow
    def test_its_files(self, idle, tmp_path):
        """A page, a notebook, and the numbers of each of the eleven rules."""
        compat_rule("mine", ASKED).rule.write(idle, tmp_path)

        place = tmp_path / "profiler-output"
        assert "<!doctype html>" == (place / "profiler-report.html").read_text()[:15]
        assert 4 == json.loads((place / "profiler-report.ipynb").read_text())["nbformat"]
        found = sorted(path.stem for path in (place / "profiler-reports").iterdir())
        assert 11 == len(found)
        numbers = json.loads((place / "profiler-reports" / "LowGPUUtilization.json").read_text())
        assert 1 == numbers["RuleTriggered"]
        assert 10 == numbers["RuleParameters"]["patience"]
        assert {"Violations", "Datapoints", "Details"} < numbers.keys()


class TestCreateXgboostReport:
    def test_it_has_labels_and_predictions_saved(self):
        """Every fifth round, as SageMaker does."""
        rule = compat_rule("CreateXgboostReport", {}).rule

        assert "predictions:raw:every=5" in rule.evidence

    @pytest.mark.slow
    def test_its_files(self, tmp_path):
        """A page, a notebook, and the numbers of each section."""
        labels = np.arange(20) % 2
        steps = [{"label/validation": labels, "prediction/validation": labels * 0.5 + 0.2}]
        trial = boosted_run("memory://report-rule", steps)
        engine = Watch([compat_rule("CreateXgboostReport", {})])

        assert [] == list(watch(trial, engine, follow=False))
        assert ["NoIssuesFound"] == [status.status for status in engine.statuses()]
        engine = compat_rule("CreateXgboostReport", {}).rule
        engine.write(trial, tmp_path)

        assert 10_000 < (tmp_path / "xgboost_report.html").stat().st_size < 500_000
        assert (tmp_path / "xgboost_report.ipynb").is_file()
        names = {path.stem for path in (tmp_path / "xgboost-reports").iterdir()}
        assert {
            "ConfusionMatrix",
            "EvaluationMetrics",
            "FeatureImportance",
            "IterativeClassAccuracy",
            "LabelsDistribution",
            "LossData",
            "ResidualDistribution",
        } <= names

    def test_another_training_is_not_evaluated(self, idle):
        """There is nothing to report of it."""
        engine = Watch([compat_rule("CreateXgboostReport", {})])
        list(watch(idle, engine, follow=False))

        assert ["NotEvaluated"] == [status.status for status in engine.statuses()]
