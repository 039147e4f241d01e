"""Which Python trains: that of the framework whose image a client names."""

from __future__ import annotations

import os
import sys

import pytest

from stepwatch.errors import ConfigError
from stepwatch.jobs.records import Records
from stepwatch_smdebug.sagemaker.account import Account, Interpreters, interpreters
from stepwatch_smdebug.sagemaker.requests import job_spec
from tests.support.jobs.sagemaker.serving import request

AWS = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
KNOWN = Interpreters("all", {"tensorflow": "tf", "xgboost": "new", "xgboost:1.7": "old"})


@pytest.fixture
def program(tmp_path):
    """Return the path of a program, a link, as the Python of an environment is one."""
    path = tmp_path / "env" / "python"
    path.parent.mkdir()
    path.symlink_to(sys.executable)
    return path


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (f"{AWS}/tensorflow-training:2.12-cpu-py310", "tf"),
        (f"{AWS}/huggingface-tensorflow-training:2.6-gpu", "tf"),
        (f"{AWS}/sagemaker-xgboost:1.5-1", "new"),
        (f"{AWS}/sagemaker-xgboost:1.7-1", "old"),
        (f"{AWS}/pytorch-training:2.0.1-cpu-py310", "all"),
        ("tensorflow.example.org/mine:1", "all"),
        ("", "all"),
    ],
)
def test_it_is_that_of_the_longest_text_in_the_name_of_the_image(image, expected):
    """Not of the host that keeps it; all others have one."""
    assert expected == KNOWN.of(image)


def test_a_job_is_told(tmp_path):
    """By the image of the request; a request may name an algorithm in its place."""
    account = Account(Records(tmp_path), interpreters=KNOWN)
    algorithm = {"TrainingImage": f"{AWS}/tensorflow-training:2.12", "TrainingInputMode": "File"}
    theirs = request("job", AlgorithmSpecification=algorithm)
    named = request(
        "job", AlgorithmSpecification={"AlgorithmName": "a", "TrainingInputMode": "File"}
    )

    assert "tf" == job_spec(theirs, account).python
    assert "all" == job_spec(named, account).python


def test_what_people_write(program, monkeypatch):
    """A path for all, or one for an image; whole, and through no link."""
    monkeypatch.chdir(program.parent)
    assert Interpreters(str(program)) == interpreters([str(program)])
    found = interpreters(["tensorflow=./python"])
    assert Interpreters(sys.executable, {"tensorflow": str(program)}) == found
    assert os.path.islink(found.of("tensorflow-training"))


def test_a_path_that_leads_to_no_program(tmp_path):
    """It is said when the server starts."""
    with pytest.raises(ConfigError, match=r"there is no program '.*nosuch'"):
        interpreters([f"tensorflow={tmp_path}/nosuch"])
