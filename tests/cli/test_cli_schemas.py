"""What ``--json`` prints is as the published JSON Schemas say, for every verb that has it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import click
import pytest

from stepwatch.cli.main import GROUP, command
from stepwatch.plugins import registry
from tests.support.cli.commands import STEPWATCH, TRAINING, call

jsonschema = pytest.importorskip("jsonschema")
SCHEMAS = Path(__file__).parents[2] / "docs/schemas"
#: How a schema is called whose verb is called otherwise; of these verbs another test sees that of
#: a server that stays.
OTHERWISE = {
    "check": "verdict",
    "watch": "verdict",
    "run": "verdict",
    "jobs list": "jobs-list",
    "jobs resume": "jobs-status",
    "jobs status": "jobs-status",
    "jobs stop": "jobs-status",
    "jobs submit": "jobs-status",
}
#: What is called, in a folder with two runs and a checkpoint.
CALLS = {
    "audit": ["audit", "last.pt", "--run", "runs/one"],
    "blackbox": ["blackbox", "runs/one", "--tensor", "0.weight"],
    "blame": ["blame", "runs/one", "--step", "2"],
    "check": ["check", "runs/one"],
    "compact": ["compact", "runs/other"],
    "convert": ["convert", "runs/one", "converted", "--to", "smdebug"],
    "diff": ["diff", "runs/one", "runs/other"],
    "jobs list": ["jobs", "list"],
    "mirror": ["mirror", "runs/one", "mirrored"],
    "profile": ["profile", "runs/one"],
    "prove": ["prove", "runs/one"],
    "replay": ["replay", "runs/one", "--step", "2"],
    "report": ["report", "runs/one"],
    "rules": ["rules"],
    "runs": ["runs"],
    "skill": ["skill", "show"],
    "show": ["show", "runs/one", "--tensor", "0.weight"],
    "verify": ["verify", "runs/one"],
    "watch": ["watch", "runs/one"],
}
SCRIPT = """
import sys
train(8, spoiled=5 if "spoil" in sys.argv else None)
torch.save({"0.weight": torch.ones(8, 4)}, "last.pt")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two runs, of which one found something, and a checkpoint."""
    place = tmp_path_factory.mktemp("schemas")
    (place / "train.py").write_text(TRAINING + SCRIPT)
    for name, *arguments in (("one", "spoil"), ("other",)):
        options = ("--run", f"runs/{name}", "--snapshot", "every=1")
        done = call(STEPWATCH, "run", *options, "train.py", *arguments, cwd=place)
        assert 0 == done.returncode, done.stderr
    return place


def verbs_with_json(group=command, before=""):
    """Yield the verbs that print JSON, and the verbs below them."""
    names = registry.names(GROUP) if group is command else group.commands
    for name in names:
        verb = group.get_command(click.Context(group), name)
        if isinstance(verb, click.Group):
            yield from verbs_with_json(verb, f"{before}{name} ")
        elif any("--json" in option.opts for option in verb.params):
            yield f"{before}{name}"


def schema_of(verb):
    return json.loads((SCHEMAS / f"{OTHERWISE.get(verb, verb)}.schema.json").read_text())


@pytest.mark.parametrize("verb", sorted({*verbs_with_json()} - {"serve"}))
def test_every_verb_that_prints_json_has_a_schema(verb):
    schema = schema_of(verb)
    jsonschema.Draft202012Validator.check_schema(schema)

    names = schema["title"].removeprefix("stepwatch ").removesuffix(" --json")
    assert any(f"{one} ".startswith(f"{verb} ") for one in names.split(", "))
    assert "schema_version" in schema["required"]


#: These run the script again.
_LONG = ("blame", "prove", "replay")


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [pytest.param(one, marks=[pytest.mark.slow] if one in _LONG else []) for one in CALLS],
)
def test_what_is_printed_is_as_the_schema_says(folder, verb):
    done = call(STEPWATCH, *CALLS[verb], "--json", cwd=folder)

    assert done.returncode in (0, 1), done.stderr
    jsonschema.validate(json.loads(done.stdout), schema_of(verb))


@pytest.mark.slow
def test_the_verdict_on_a_script_follows_what_it_prints(folder):
    """It is what check says of the run."""
    script = folder / "loud.py"
    script.write_text((folder / "train.py").read_text() + "print('{not ours}')\n")
    done = call(STEPWATCH, "run", "--run", "runs/loud", "--json", "loud.py", "spoil", cwd=folder)
    checked = call(STEPWATCH, "check", "runs/loud", "--json", cwd=folder)
    printed, _, document = done.stdout.partition("{not ours}\n")

    assert 0 == done.returncode, done.stderr
    assert "schema_version" not in printed
    jsonschema.validate(json.loads(document), schema_of("run"))
    told, judged = json.loads(document), json.loads(checked.stdout)
    assert [one["cause"] for one in told["chains"]] == [one["cause"] for one in judged["chains"]]
    assert ("runs/loud", "finished") == (told["run"][-9:], told["state"])


def test_the_address_of_the_dashboard_is_as_its_schema_says(folder):
    """Whoever started it reads it while it serves."""
    arguments = [STEPWATCH, "dash", "runs", "--port", "0", "--json"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.PIPE, text=True, env=buffered
    ) as server:
        lines = list(iter(server.stdout.readline, "}\n"))
        server.terminate()

    document = json.loads("".join([*lines, "}"]))
    jsonschema.validate(document, schema_of("dash"))
    assert document["url"].startswith("http://localhost:")


@pytest.mark.slow
def test_a_certificate_is_as_its_schema_says(folder):
    done = call(STEPWATCH, "certify", "--steps", "2", "--json", "train.py", cwd=folder)

    assert done.returncode in (0, 1), done.stderr
    jsonschema.validate(json.loads(done.stdout), schema_of("certify"))


@pytest.mark.slow
def test_the_status_of_a_job_is_as_its_schema_says(folder, monkeypatch):
    monkeypatch.setenv("STEPWATCH_JOBS", str(folder / "jobs"))
    options = ("--name", "one", "--wait", "--json")
    submitted = call(STEPWATCH, "jobs", "submit", *options, "train.py", cwd=folder)

    jsonschema.validate(json.loads(submitted.stdout), schema_of("jobs submit"))
    assert "Completed" == json.loads(submitted.stdout)["status"]
    for verb, *names in (("status", "one"), ("list",)):
        done = call(STEPWATCH, "jobs", verb, *names, "--json", cwd=folder)

        assert 0 == done.returncode, done.stderr
        jsonschema.validate(json.loads(done.stdout), schema_of(f"jobs {verb}"))
