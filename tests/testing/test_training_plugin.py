"""The plug-in of pytest, in sessions of their own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support import ROOT
from tests.support.cli.commands import call

FAULTY = (ROOT / "examples/test_training.py").read_text().replace(
    "SGD(model.parameters()", "SGD(model[0].parameters()"
)  # fmt: skip


@pytest.fixture
def session(tmp_path):
    """Return a function that runs tests in a session of their own: exit status and output."""

    def run(text, **options):
        (tmp_path / "test_mine.py").write_text(text)
        arguments = ("-p", "no:cacheprovider", "-o", "addopts=", "test_mine.py")
        done = call(sys.executable, "-m", "pytest", *arguments, cwd=tmp_path, **options)
        return done.returncode, done.stdout

    return run


def with_training(body):
    """Return a test file that has ``make_step`` of the example, without a fault."""
    head = (ROOT / "examples/test_training.py").read_text().partition("def test_")[0]
    return f"{head}\n{body}"


class TestPlugin:
    @pytest.mark.slow
    def test_the_example_passes(self, session):
        """As it stands in the documentation."""
        status, out = session((ROOT / "examples/test_training.py").read_text())

        assert (0, True) == (status, "2 passed" in out), out

    @pytest.mark.slow
    def test_a_faulty_training_fails_with_cause_and_remedy(self, session):
        """Where steps are given, and beside the failure of a test that trains by itself."""
        status, out = session(FAULTY)
        first, _, second = out.partition("Captured stepwatch call")

        assert (1, True) == (status, "2 failed" in out), out
        assert re.search(r"^E .*: 2\.weight, 2\.bias \(untrained_parameter\)", first, re.M)
        assert re.search(r"^E +create the optimizer after", first, re.M)
        assert re.search(
            r"since step 0, noticed at step 9: .*: 2\.weight.*\(untrained_parameter\)", second
        )
        assert "stepwatch show " in first

    @pytest.mark.slow
    def test_a_rule_may_be_ignored(self, session):
        """And what is found is returned all the same."""
        body = (
            "def test_it(healthy):\n"
            "    verdict = healthy(make_step(), steps=20, ignore=['untrained_parameter'])\n"
            "    assert [one.rule for one in verdict.findings] == ['untrained_parameter']\n"
        )
        status, out = session(with_training(body).replace("model.par", "model[0].par"))

        assert 0 == status, out

    @pytest.mark.slow
    def test_where_nothing_is_trained_nothing_is_healthy(self, session):
        """A marked test without a step fails, and so do arguments that the marker has not."""
        status, out = session(
            with_training(
                "@pytest.mark.training\ndef test_none(): pass\n"
                "@pytest.mark.training(rule='x')\ndef test_wrong(): pass\n"
            )
        )

        assert (1, True) == (status, "2 failed" in out), out
        assert "nothing was trained that a rule could judge" in out
        assert "the marker is training" in out

    def test_it_loads_little_into_the_sessions_of_others(self, session):
        """Wherever Stepwatch is installed pytest imports the plug-in."""
        status, out = session(
            "import sys\n"
            "def test_it():\n"
            "    ours = {name for name in sys.modules if name.startswith('stepwatch.')}\n"
            "    assert ours == {'stepwatch.testing', 'stepwatch.testing.training'}\n"
            "    assert not {'numpy', 'torch', 'pyarrow'} & sys.modules.keys()\n",
            start=subprocess.run,
        )

        assert 0 == status, out
