"""``stepwatch check --format``: what CI reads, and the lines that findings point to."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stepwatch.formats import RunTarget, open_writer
from stepwatch.formats.manifest import End, Manifest
from stepwatch.hooks.script import script_place
from stepwatch.judge.evaluate import evaluate
from stepwatch.model.finding import Finding
from stepwatch.report.exchange import Judged, Place, github, judged, junit, markdown, sarif
from stepwatch.store import open_store
from stepwatch.testing import make_record, make_run
from stepwatch.trial import Trial
from tests.support.cli.command_fixtures import verb, write
from tests.support.cli.commands import STEPWATCH, call

__all__ = ["verb", "write"]

TRAIN = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 32)
        self.head = nn.Sequential(
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.head(self.body(x))

def main():
    torch.manual_seed(0)
    inputs = torch.randn(64, 8)
    model = Net()
    optimizer = torch.optim.SGD(model.body.parameters(), lr=0.05)
    for step in range(14):
        if step == 11:
            inputs[3] = torch.nan
        loss = nn.functional.mse_loss(model(inputs), inputs[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

main()
"""
RULES = "untrained_parameter; exploding_tensor; overfit"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """The folder of a script with two faults, and of its run ``run``."""
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "train.py").write_text(TRAIN)
    done = call(STEPWATCH, "run", "--run", folder / "run", "--budget", "none", "train.py",
                cwd=folder)  # fmt: skip
    assert 0 == done.returncode, done.stderr
    return folder


@pytest.fixture
def found(faulty, monkeypatch):
    """The run, judged, as seen from the folder of its script."""
    monkeypatch.chdir(faulty)
    trial = Trial("run")
    return judged([trial], [evaluate(trial, RULES.split("; "))])


class TestPlaces:
    def test_what_was_made_in_the_script_is_noted_with_its_line(self, faulty):
        """Of layers inside of one that was made at the same place, only that one."""
        sources = Trial(faulty / "run").reader.ends()["worker_0"].sources

        assert {
            "optimizer": f"{faulty}/train.py:20",
            "loss/mse_loss": f"{faulty}/train.py:24",
            "module/body": f"{faulty}/train.py:7",
            "module/head": f"{faulty}/train.py:8",
        } == dict(sources)

    @pytest.mark.parametrize(
        ("rule", "tensor", "line"),
        [
            ("exploding_tensor", "output/head.1", 8),
            ("exploding_tensor", "gradient/body.weight", 7),
            ("untrained_parameter", "head.1.weight", 20),
            ("learning_rate_anomaly", "learning_rate/0", 20),
            ("loss_spike", "loss/mse_loss", 24),
            ("chance_level", "label/mse_loss", 24),
            ("repeated_data", "", 24),
        ],
    )
    def test_a_finding_points_to_what_it_is_about(self, found, rule, tensor, line):
        """To the layer, the optimizer or the loss; to the step where it is about all of it."""
        assert Place("train.py", line) == found[0].place(Finding(rule, 1, tensor, ""))

    def test_without_lines_it_points_to_the_script(self, tmp_path):
        """Such as for a run that died; and to nothing where no script is known."""
        store = open_store(tmp_path / "run")
        manifest = Manifest("x", 1, ("train.py",), folder=str(tmp_path))
        writer = open_writer(RunTarget(store, "worker_0", manifest))
        writer.write(make_record(0, {"loss/x": 1.0}))
        writer.close(End("finished", 1))
        trial, made = Trial(store), Trial(make_run(tmp_path / "made", steps=2))
        finding = Finding("loss_spike", 0, "loss/x", "")

        assert Place("train.py", 1) == Judged(trial, evaluate(trial, []), tmp_path).place(finding)
        assert Place("", 1) == Judged(made, evaluate(made, []), tmp_path).place(finding)

    def test_code_of_packages_is_no_place(self):
        """The line in this file is, though pytest called it."""
        file, _, line = script_place().rpartition(":")

        assert (str(Path(__file__)), True) == (file, line.isdecimal())


class TestFormats:
    def test_junit_has_a_case_for_each_rule(self, found):
        """What found something failed, and what could not judge was skipped."""
        root = ElementTree.fromstring(junit(found))
        cases = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
        failure = root.find(".//testcase[@name='untrained_parameter']")

        assert {
            "run": [],
            "untrained_parameter": ["failure"],
            "exploding_tensor": ["failure"],
            "overfit": ["skipped"],
        } == cases
        assert ("train.py", "20") == (failure.get("file"), failure.get("line"))
        assert ("4", "2", "1") == tuple(
            root.find("testsuite").get(name) for name in ("tests", "failures", "skipped")
        )

    def test_a_run_that_failed_is_an_error_in_every_format(self, tmp_path):
        """Whether or not a rule found anything: of the exit status, JUnit, SARIF and GitHub."""
        store = open_store(tmp_path / "run")
        writer = open_writer(RunTarget(store, "worker_0", Manifest("x", 1)))
        writer.write(make_record(0, {"loss/x": 1.0}))
        writer.close(End("failed", 1, error="ValueError: no more data"))
        trial = Trial(store)
        runs = judged([trial], [evaluate(trial, [])])
        root = ElementTree.fromstring(junit(runs))
        (log,) = json.loads(sarif(runs))["runs"]
        (note,) = log["invocations"][0]["toolExecutionNotifications"]

        assert (1, 1) == (runs[0].verdict.exit_status, runs[0].verdict.to_dict()["exit_status"])
        assert "ValueError: no more data" in root.find(".//testcase[@name='run']/error").text
        assert "1" == root.find("testsuite").get("errors")
        assert ("error", True) == (note["level"], "no more data" in note["message"]["text"])
        assert github(runs).startswith("::error title=stepwatch::")

    def test_sarif_has_a_result_for_each_finding(self, found):
        """With level, place, and an id that is the same in the next run."""
        (run,) = json.loads(sarif(found))["runs"]
        first = run["results"][0]
        place = first["locations"][0]["physicalLocation"]

        assert ["untrained_parameter", "exploding_tensor"] == [
            result["ruleId"] for result in run["results"]
        ]
        assert ("warning", "train.py", 20) == (
            first["level"],
            place["artifactLocation"]["uri"],
            place["region"]["startLine"],
        )
        assert found[0].verdict.findings[0].finding_id == first["partialFingerprints"]["finding/v1"]
        assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"]
        assert ["overfit"] == [
            note["associatedRule"]["id"]
            for note in run["invocations"][0]["toolExecutionNotifications"]
        ]

    def test_github_gets_an_annotation_for_each_cause(self, found):
        """With line ends and per cents escaped; the last is the verdict."""
        lines = github(found).splitlines()

        assert any(
            line.startswith("::warning file=train.py,line=20,title=untrained_parameter at step 9::")
            for line in lines
        )
        assert lines[-1].startswith("::notice title=stepwatch::")
        assert f"/run: {found[0].verdict.headline.line}" in lines[-1]

    def test_markdown_has_a_table_of_causes_and_a_curve(self, found):
        """Until the values are no numbers any more."""
        text = markdown(found)

        assert "| warning | `untrained_parameter` | since step 0, noticed at step 9 |" in text
        assert "`train.py:20` |" in text
        assert 'title "loss/mse_loss"\n  x-axis "step" 0 --> 10\n' in text
        assert "- overfit lacked data: no loss" in text

    @pytest.mark.parametrize("form", [junit, sarif, github, markdown])
    def test_what_a_strangers_run_holds_stays_text(self, tmp_path, form):
        """No control character gets through, no tag, no command of its own."""
        trial = Trial(make_run(tmp_path / "run", steps=2))
        evil = Finding("x", 0, "t", "\x1b[2J<b>\n::error::mine", remedy="![i](http://x/) @all")
        verdict = evaluate(trial, [])
        text = form(judged([trial], [type(verdict)("r\x1b", [evil], [], verdict.order)]))

        assert "\x1b" not in text
        if form is junit:
            assert ElementTree.fromstring(text) is not None
        assert not [line for line in text.splitlines() if line.startswith("::error::mine")]
        assert "![i](http" not in text or form in (junit, sarif, github)


class TestVerb:
    def test_the_format_is_printed_or_written(self, verb, faulty, monkeypatch):
        """The exit status stays that of the verdict."""
        monkeypatch.chdir(faulty)
        status, out, _ = verb("check", "run", "--rules", RULES, "--format", "junit")
        written, nothing, _ = verb(
            "check", "run", "--rules", RULES, "--format", "junit", "-o", "out.xml"
        )

        assert (1, 1, "") == (status, written, nothing)
        assert out == (faulty / "out.xml").read_text()

    def test_a_file_that_cannot_be_written_is_one_line(self, verb, faulty, monkeypatch):
        monkeypatch.chdir(faulty)
        status, _, err = verb("check", "run", "--rules", "none", "-o", "no/where.xml")

        assert (2, 1) == (status, len(err.splitlines()))
