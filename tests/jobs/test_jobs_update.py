"""What a job is told beside its script, and what is changed of it while it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepwatch.capture.control import Control
from stepwatch.errors import ConfigError
from stepwatch.jobs import Job, RuleSpec
from stepwatch.jobs.records import Records
from stepwatch.jobs.rule_process import JobControl
from stepwatch.jobs.spec import JobSpec
from tests.support.jobs.living import TIMEOUT_S, submit, wait_for

pytestmark = pytest.mark.slow

__all__ = ["submit"]

WAITS = """
import os, time
print(os.environ["SMPROFILER_CONFIG_PATH"], flush=True)
while not os.path.exists(os.environ["END"]):
    time.sleep(0.02)
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "train.py").write_text("print()")
    return tmp_path / "train.py"


class TestUpdate:
    def test_the_profiler_and_the_rules_of_a_job_that_goes_on(self, submit, tmp_path):
        """Its training reads the new configuration; the new rule judges like all others."""
        end = tmp_path / "end"
        job = submit(WAITS, rules=["overfit"], profiler=True, environment={"END": str(end)})
        (line,) = wait_for(lambda: list(job.logs()), "no line")
        told = Path(line)
        assert {} == json.loads(told.read_text())

        record = job.update(profiler={"ProfilingIntervalInMilliseconds": 100}, rules=["loss_spike"])
        assert {"ProfilingIntervalInMilliseconds": 100} == json.loads(told.read_text())
        assert [("overfit", "InProgress"), ("loss_spike", "InProgress")] == [
            (one.name, one.status) for one in record.rules
        ]
        roles = ("runner", "algo-1", "rule-0", "rule-1")
        wait_for(
            lambda: {one.role for one in job._records.processes(job.name)} == {*roles}, "no process"
        )
        end.touch()
        assert ["NotEvaluated"] * 2 == [one.status for one in job.wait(TIMEOUT_S).rules]
        with pytest.raises(ConfigError, match="'job-0' is Completed, and cannot be changed"):
            job.update(profiler={})
        with pytest.raises(ConfigError, match="'job-0' is Completed; only one that failed"):
            job.resume()

    def test_two_rules_have_two_names(self, tmp_path, script):
        """Also where one comes later."""
        job = Job(script, name="one", rules=["overfit"], home=tmp_path)
        job._records.add(job.spec)
        with pytest.raises(ConfigError, match="two rules of a job are called 'overfit'"):
            job.update(rules=["overfit"])
        assert 1 == len(job.status().rules)


class TestConfigurations:
    def test_each_is_an_object_a_file_or_a_yes(self, tmp_path, script):
        """As SageMaker's JSON has them."""
        (tmp_path / "hook.json").write_text('{"S3OutputPath": "s3://b/p"}')
        spec = Job(
            script,
            hook=tmp_path / "hook.json",
            profiler={"DisableProfiler": True},
            tensorboard=True,
            output="runs",
            home=tmp_path,
            name="j",
        ).spec

        assert ({"S3OutputPath": "s3://b/p"}, {}) == (spec.hook, spec.tensorboard)
        assert {"DisableProfiler": True} == spec.profiler
        assert ("s3://b/p/j/debug-output", "runs/j/tensorboard-output", "runs/j") == (
            spec.copy_url,
            spec.tensorboard_url,
            spec.output_url,
        )

    @pytest.mark.parametrize(("text", "why"), [("{", "cannot be read"), ("[]", "no JSON object")])
    def test_a_file_that_is_no_configuration(self, tmp_path, script, text, why):
        """It is refused before anything begins."""
        (tmp_path / "hook.json").write_text(text)
        with pytest.raises(ConfigError, match=why):
            Job(script, hook=tmp_path / "hook.json", home=tmp_path)

    def test_rules_in_the_words_of_sagemaker(self, tmp_path, script):
        """What cannot be meant is refused at once."""
        good = RuleSpec({"rule_to_invoke": "DeadRelu", "threshold_layer": "20"}, "relu")
        assert (good,) == Job(script, rules=[good], home=tmp_path).spec.rules
        with pytest.raises(ConfigError, match="dead_relu has no parameter 'treshold_layer'"):
            Job(
                script, rules=[RuleSpec({"rule_to_invoke": "DeadRelu", "treshold_layer": "2"}, "r")]
            )


class TestStopping:
    @pytest.fixture
    def records(self, tmp_path):
        records = Records(tmp_path)
        for name in ("mnist-1", "mnist-2", "other"):
            records.add(JobSpec(name, "train.py"))
        return records

    @pytest.mark.parametrize(
        ("judged", "prefix", "stopped"),
        [
            ("mnist-1", "", ["mnist-1"]),
            ("mnist-1", "mnist", ["mnist-1"]),
            ("mnist-1", "oth", ["other"]),
            ("other", "mnist", []),
            ("other", "Other", []),
        ],
    )
    def test_which_job_a_rule_stops(self, records, judged, prefix, stopped):
        """The one that it judges, if it is meant; else the only one that can be."""
        answers = []
        JobControl(records, judged, prefix).request(
            lambda control: control.stop("found") or "done", answers.append
        )

        assert stopped == [name for name in sorted(records.names()) if records.requested(name)[0]]
        assert isinstance(answers[0], str if stopped else ConfigError)
        assert issubclass(JobControl, Control)
