"""No verb does what a stranger's run folder would have it do."""

from __future__ import annotations

import re
import unicodedata

import pytest

from stepwatch.cli.main import main
from stepwatch.testing.hostile import HOSTILE, SECRET, make_hostile_run
from stepwatch.testing.made_runs import make_run

READING = {
    "show": ["show", "{run}"],
    "show a tensor": ["show", "{run}", "--tensor", "layer0.weight"],
    "show as JSON": ["show", "{run}", "--json"],
    "check": ["check", "{run}"],
    **{
        f"check as {style}": ["check", "{run}", "--format", style]
        for style in ("json", "junit", "sarif", "github", "markdown", "advice")
    },
    "watch": ["watch", "{run}"],
    "audit": ["audit", "{run}"],
    "diff": ["diff", "{run}", "{run}"],
    "profile": ["profile", "{run}"],
    "blackbox": ["blackbox", "{run}"],
    "blame": ["blame", "{run}", "--step", "3"],
    "prove": ["prove", "{run}"],
    "replay": ["replay", "{run}", "--step", "3"],
    "runs": ["runs", "{folder}"],
    "verify": ["verify", "{run}"],
}
WRITING = {
    "report": ["report", "{run}", "-o", "{out}.html"],
    "mirror": ["mirror", "{run}", "{out}-mirror"],
    "convert to TensorBoard": ["convert", "{run}", "{out}-tensorboard", "--to", "tensorboard"],
    "convert to smdebug": ["convert", "{run}", "{out}-smdebug", "--to", "smdebug"],
    "compact": ["compact", "{run}"],
}


def run_verb(arguments):
    """Run a verb in this process and return its exit status."""
    try:
        main(arguments)
    except SystemExit as ended:
        return ended.code or 0
    return 0


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.slow
def test_a_hostile_run_does_nothing_to_who_looks_at_it(kind, tmp_path, capsys):
    """Every verb ends by itself, in order, and shows nothing that is not in the run."""
    try:
        run = make_hostile_run(kind, tmp_path / "made")
    except OSError:
        pytest.skip("this system has no such files")
    names = {"run": run, "out": str(tmp_path / "out"), "folder": str(tmp_path / "made")}
    for name, arguments in (READING | WRITING).items():
        status = run_verb([one.format(**names) for one in arguments])
        printed = capsys.readouterr()
        text = printed.out + printed.err

        assert status in (0, 1, 2), name
        assert SECRET not in text, name
        # what a terminal acts on: control characters, and those of Unicode that have no shape
        acting = {one for one in text if unicodedata.category(one) in ("Cc", "Cf")} - set("\n\t")
        assert not acting, (name, acting)
        if status == 2:
            assert re.search(r"^stepwatch: .+$", printed.err, re.MULTILINE), name
    for path in tmp_path.glob("out*/**/*"):
        assert not path.is_symlink()
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


def test_the_verbs_work_where_nothing_is_wrong(tmp_path, capsys):
    """Else they would stand above and read nothing."""
    run = str(tmp_path / "made" / "run")
    make_run(run, steps=6, raw=True)
    names = {"run": run, "out": str(tmp_path / "out"), "folder": str(tmp_path / "made")}
    refused = {
        name
        for name, arguments in (READING | WRITING).items()
        if run_verb([one.format(**names) for one in arguments]) == 2
    }
    capsys.readouterr()

    # it has neither a profile, nor a black box, nor checkpoints, nor snapshots
    assert refused <= {"audit", "profile", "blackbox", "blame", "prove", "replay"}
