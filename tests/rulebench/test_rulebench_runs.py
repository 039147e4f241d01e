"""The programs train, and the benchmark sees them as ``stepwatch check`` would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import click
import pytest
from rulebench.causes import CAUSES
from rulebench.crew import run_all
from rulebench.judging import Bench
from rulebench.outcome import Outcome, Outcomes
from rulebench.program import Program, healthy
from rulebench.scores import Verdict
from rulebench.trainings.digits import Digits
from rulebench.trainings.training import Training

from rulebench import catalogue, commands
from stepwatch.rules import DEFAULT_RULES
from tests.support import ROOT

ASKED = ("digits_zero_group", "frozen_backbone_adam")
PROGRAMS = {program.name: program for program in catalogue.programs()}

# On a busy machine a training takes many times as long.
pytestmark = pytest.mark.timeout(900)


def command(runs: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "rulebench", "--runs", str(runs), "--jobs", "1", *arguments]


def outcomes(runs: Path) -> dict[str, Outcome]:
    lines = (runs / "outcomes.jsonl").read_text().splitlines()
    found = [Outcome(**json.loads(line)) for line in lines]
    return {outcome.program: outcome for outcome in found}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A faulty program and a healthy one, judged; the folder and the outcomes."""
    runs = tmp_path_factory.mktemp("runs")
    arguments = [part for name in ASKED for part in ("--only", name)]
    subprocess.run(
        command(runs, *arguments), cwd=ROOT, capture_output=True, text=True, timeout=900, check=True
    )
    return runs, outcomes(runs)


class TestBenchmark:
    @pytest.mark.slow
    def test_a_fault_that_rules_know_is_named(self, judged):
        """A learning rate of zero."""
        outcome = judged[1]["digits_zero_group"]

        assert "" == outcome.failure
        assert Verdict.of(PROGRAMS["digits_zero_group"], outcome).named

    @pytest.mark.slow
    def test_a_healthy_training_is_not_accused(self, judged):
        """Part of it is frozen, which is no fault."""
        outcome = judged[1]["frozen_backbone_adam"]

        assert 300 == outcome.trained
        assert () == Verdict.of(PROGRAMS["frozen_backbone_adam"], outcome).false_alarms

    @pytest.mark.slow
    def test_what_was_judged_is_not_judged_again(self, judged, monkeypatch):
        """Asked the same again, it only counts."""
        runs, _ = judged
        bench = Bench.of(DEFAULT_RULES, runs)
        work = [(PROGRAMS[name], 0) for name in ASKED]
        for program, seed in work:
            Outcomes(runs / "outcomes.jsonl").add(
                Outcome(program.name, seed, bench.version(program), trained=7)
            )
        monkeypatch.setattr(commands, "run_all", None)

        assert [7, 7] == [one.outcome.trained for one in commands.judge(bench, work, 1)]


class TestCatalogue:
    def test_there_are_enough_programs(self):
        """A hundred faulty ones, and sixty kinds of healthy ones with variants."""
        faulty = [program for program in PROGRAMS.values() if program.cause]

        assert len(faulty) >= 100
        assert len(PROGRAMS) - len(faulty) >= 150

    def test_no_two_programs_share_a_name(self):
        """Outcomes are kept by name."""
        assert len(PROGRAMS) == len(catalogue.programs())

    def test_every_faulty_program_has_a_healthy_twin(self):
        """The twin is judged as well, by itself or as another program that is the same."""
        healthy = [one for one in PROGRAMS.values() if not one.cause]
        without = [
            one.name
            for one in PROGRAMS.values()
            if one.cause
            and not any(
                (other.training, other.options) == (one.twin.training, one.twin.options)
                for other in healthy
            )
        ]

        assert [] == without

    def test_every_cause_is_planted(self):
        """A word of the vocabulary that no program uses says nothing."""
        assert set(CAUSES) == {program.cause for program in PROGRAMS.values()} - {""}

    def test_the_sample_is_part_of_it(self):
        """Names are not checked when they are asked for."""
        assert set() == set(catalogue.SAMPLE) - PROGRAMS.keys()

    def test_a_cause_outside_of_the_vocabulary_is_refused(self):
        """Causes are decided before anything is scored."""
        with pytest.raises(ValueError, match="no cause 'bad_luck'"):
            Program("digits", Digits, cause="bad_luck")

    def test_an_option_that_is_no_attribute_is_refused(self):
        """A fault that is misspelt would be no fault."""
        with pytest.raises(TypeError, match="no option 'learning_rate'"):
            healthy("digits", Digits, learning_rate=1.0).build(0)


class TestPrograms:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", sorted(PROGRAMS))
    def test_a_program_trains(self, name):
        """Each of them gets through its first steps and an evaluation."""
        training = PROGRAMS[name].build(0)
        if training.workers > 1:
            pytest.skip("needs a process of its own for each worker")
        training.steps, training.eval_every = 3, 2
        training.train()

        assert 2 == training.step

    def test_programs_know_nothing_of_stepwatch(self):
        """They are what users write."""
        folders = ("trainings", "faults", "healthy")
        files = [path for name in folders for path in Path(ROOT, "rulebench", name).glob("*.py")]

        assert [] == [
            path.name for path in files if "stepwatch" in path.read_text().split("import")
        ]
        assert issubclass(PROGRAMS["plain_digits"].training, Training)


class TestBreakingOff:
    def test_ctrl_c_keeps_what_was_judged(self, tmp_path, monkeypatch, capsys):
        """And counts it."""

        def broken_off(jobs, work, **_):
            program, seed = jobs[0]
            yield jobs[0], asdict(Outcome(program.name, seed, bench.version(program))), ""
            raise KeyboardInterrupt

        monkeypatch.setattr(commands, "run_all", broken_off)
        bench = Bench.of(["loss_spike"], tmp_path)
        verdicts = commands.judge(
            bench, [(PROGRAMS["plain_digits"], 0), (PROGRAMS["lora_four"], 0)], 1
        )

        assert [verdict.program.name for verdict in verdicts] == [*outcomes(tmp_path)]
        assert "broken off" in capsys.readouterr().err


class TestCrew:
    def test_every_job_is_told_with_what_it_returned(self):
        """However many there are at once."""
        told = {job: result for job, result, _ in run_all(range(5), abs, at_once=2, limit_s=60)}

        assert {number: number for number in range(5)} == told

    def test_a_job_that_raises_says_why(self):
        """The others go on."""
        ((_, result, failure),) = run_all(["x"], int, at_once=1, limit_s=60)

        assert result is None
        assert "invalid literal" in failure

    def test_a_job_that_dies_is_told(self):
        """A crash in C leaves no word."""
        ((_, _, failure),) = run_all([1], os._exit, at_once=1, limit_s=60)

        assert "the process died" == failure

    def test_a_job_that_does_not_end_is_ended(self):
        """A hanging training must not hang the benchmark."""
        ((_, _, failure),) = run_all([1], lambda _: signal.pause(), at_once=1, limit_s=0.1)

        assert "took more than 0.1 s" == failure


class TestSeeds:
    @pytest.mark.parametrize(
        ("text", "expected"), [("1", [0]), ("3", [0, 1, 2]), ("5-6", [5, 6]), ("4-4", [4])]
    )
    def test_a_number_counts_from_zero_and_a_range_names_both_ends(self, text, expected):
        assert expected == list(commands.Seeds().convert(text, None, None))

    @pytest.mark.parametrize("text", ["0", "6-5", "-3", "one", "1-", ""])
    def test_what_names_no_seed_is_refused(self, text):
        with pytest.raises(click.BadParameter, match="no number from 1"):
            commands.Seeds().convert(text, None, None)
