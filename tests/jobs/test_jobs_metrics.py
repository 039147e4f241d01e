"""Numbers that a training prints: the last of each is told, while it trains and after."""

from __future__ import annotations

import pytest

from stepwatch.errors import ConfigError
from stepwatch.jobs import JobSpec, logs
from stepwatch.jobs.logs import LogMetrics, last_metrics
from stepwatch.jobs.paths import JobPaths
from tests.support.jobs.living import TIMEOUT_S, submit, wait_for

__all__ = ["submit"]

PATTERNS = {"loss": r"loss=(\S+)", "accuracy": r"accuracy: ([0-9.]+)%?", "score": r"\d+(?= points)"}


@pytest.fixture
def paths(tmp_path):
    paths = JobPaths(tmp_path, "job")
    paths.make()
    return paths


@pytest.fixture
def look(paths):
    """Return a function that adds to a log, looks, and returns the values."""
    found = LogMetrics(PATTERNS, paths, [paths.log(0), paths.log(1)])

    def of(text, rank=0, **options):
        with paths.log(rank).open("a") as log:
            log.write(text)
        found.search(**options)
        return {one.name: one.value for one in last_metrics(paths)}

    return of


class TestLogMetrics:
    def test_the_last_of_each_counts(self, look):
        """By its group, or all of it; several in a line, and in the log of any process."""
        assert {} == look("nothing\n")
        assert {"loss": 0.5} == look("loss=0.75\nstep 2 loss=0.5 accuracy: high\n")
        assert {"loss": 0.25, "accuracy": 75.0} == look("loss=1 loss=0.25\naccuracy: 75.0%\n", 1)
        assert {"loss": 1e-3, "accuracy": 75.0, "score": 12.0} == look("12 points, loss=1e-3\n")

    def test_what_is_no_finite_number_is_passed_over(self, look):
        """No document could hold it; the one before stays."""
        assert {"loss": 2.0} == look("loss=2\nloss=nan\nloss=inf\nloss=high\n")

    def test_a_line_counts_when_it_is_whole(self, look):
        """A number may be cut in the middle; at the end of the training nothing more comes."""
        assert {} == look("loss=0.1")
        assert {"loss": 0.125} == look("25\nloss=3")
        assert {"loss": 3.0} == look("", at_end=True)

    def test_a_line_of_many_megabytes_is_looked_through_in_pieces(self, look):
        """As progress bars leave them."""
        assert {"loss": 7.0} == look("loss=8\r" + " " * (3 << 20) + "loss=7\n")

    def test_a_pattern_that_takes_too_long_is_given_up(self, paths, monkeypatch, capsys):
        """The runner must go on to look after its job; the others are still looked for."""
        monkeypatch.setattr(logs, "_PATIENCE_S", 0.05)
        found = LogMetrics({"slow": "(a+)+$", "loss": "loss=(.*)"}, paths, [paths.log(0)])
        paths.log(0).write_text("a" * 60 + "b\nloss=4\n")
        found.search()

        assert [("loss", 4.0)] == [(one.name, one.value) for one in last_metrics(paths)]
        assert "the metric slow is given up" in capsys.readouterr().out

    def test_who_goes_on_with_a_job_keeps_what_was_found(self, paths, look):
        """And looks only at what is added."""
        look("loss=1\naccuracy: 2\n")
        with paths.log(0).open("a") as log:
            again = LogMetrics(PATTERNS, paths, [paths.log(0)])
            log.write("loss=5\n")
        again.search()

        assert {"loss": 5.0, "accuracy": 2.0} == {
            one.name: one.value for one in last_metrics(paths)
        }


class TestAJob:
    @pytest.mark.slow
    def test_they_are_told_while_it_trains_and_after(self, submit, tmp_path):
        """By the job, whoever holds it."""
        end = tmp_path / "end"
        text = (
            "import os, time\n"
            "print('loss=0.5', flush=True)\n"
            f"while not os.path.exists({str(end)!r}): time.sleep(0.02)\n"
            "print('loss=0.25', end='')\n"
        )
        job = submit(text, metrics={"loss": r"loss=(\S+)"})
        wait_for(lambda: {"loss": 0.5} == job.metrics() or job.status().has_ended, "no metric")
        assert not job.status().has_ended
        end.touch()

        assert "Completed" == job.wait(TIMEOUT_S).status
        assert {"loss": 0.25} == job.metrics()

    def test_a_pattern_that_is_none_is_refused(self):
        """Before anything begins."""
        with pytest.raises(ConfigError, match="the metric 'loss' has no regular expression: "):
            JobSpec("job", "train.py", metrics={"loss": "loss=("})
