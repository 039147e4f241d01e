"""No verb does what a stranger's run folder would have it do."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from stepwatch.cli.main import VERBS
from stepwatch.testing.hostile import HOSTILE, SECRET, make_hostile_run
from stepwatch.testing.made_runs import make_run
from tests.support.cli.run_verbs import READING, RUNNING, WRITING, run_verb

ROOT = Path(__file__).parents[2]
EVERY = READING | RUNNING | WRITING
#: Verbs that are no part of the table: of no run, or of one that they make.
OF_NO_RUN = {"run", "certify", "jobs", "rules", "serve", "skill"}


def table():
    """Return the rows of the table in SECURITY.md: verbs, what is read, written and run."""
    text = (ROOT / "SECURITY.md").read_text().partition("| Verb |")[2]
    rows = [line.strip("| ").split(" | ") for line in text.partition("\n\n")[0].split("\n")[2:]]
    return [(set(re.findall(r"`([a-z]+)`", row[0])), *row[1:]) for row in rows]


def contents(folder):
    """Return all that lies in a folder, with what it holds and when it was changed."""
    return {
        path: (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.slow
def test_a_hostile_run_does_nothing_to_who_looks_at_it(kind, tmp_path, capsys):
    """Every verb ends by itself, in order, and shows nothing that is not in the run."""
    try:
        run = make_hostile_run(kind, tmp_path / "made")
    except OSError:
        pytest.skip("this system has no such files")
    names = {"run": run, "out": str(tmp_path / "out"), "folder": str(tmp_path / "made")}
    for name, arguments in EVERY.items():
        status = run_verb(arguments, **names)
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
    refused = {name for name, arguments in EVERY.items() if run_verb(arguments, **names) == 2}
    capsys.readouterr()

    # it has neither a profile, nor a black box, nor checkpoints, nor snapshots
    assert refused <= {"audit", "profile", "blackbox", "blame", "prove", "replay"}


class TestTable:
    """What ``SECURITY.md`` says of each verb."""

    def test_it_has_every_verb_that_is_given_a_run(self):
        """And each is driven over the runs above, but for servers, which have tests of theirs."""
        verbs = {verb for summaries in VERBS.values() for verb in summaries}
        driven = {arguments[0] for arguments in EVERY.values()}
        said = set.union(*(row[0] for row in table()))

        assert verbs - OF_NO_RUN == said
        assert {"dash", "mcp"} == said - driven

    def test_only_what_asks_first_runs_what_a_run_names(self):
        """Its tests are those of each verb: a stranger's program is shown, and not run."""
        running = [row for row in table() if row[3] != "no" and "refused" not in row[3]]

        assert [set(RUNNING)] == [row[0] for row in running]
        assert all("after you agreed" in row[3] for row in running)

    @pytest.mark.slow
    def test_what_writes_nothing_leaves_the_run_and_what_is_around_it_as_they_are(
        self, tmp_path, capsys, monkeypatch
    ):
        """Also of an old run, and of one that was killed and has a black box alone."""
        work = tmp_path / "work"
        work.mkdir()
        monkeypatch.chdir(work)
        monkeypatch.setenv("STEPWATCH_STATE", str(work / "state"))
        make_run(work / "runs/native", steps=6, raw=True)
        make_run(work / "runs/old", steps=6, raw=True, format="smdebug")
        make_run(work / "runs/killed", steps=6, raw=True)
        (work / "runs/killed/end/worker_0.json").unlink()
        nothing = set.union(*(row[0] for row in table() if row[2] == "nothing")) - {"mcp"}
        before = contents(work)
        for run in ("native", "old", "killed"):
            for name, arguments in READING.items():
                if (run, name) != ("killed", "watch"):  # which waits for it to go on
                    run_verb(arguments, run=f"runs/{run}", folder="runs")
                    assert before == contents(work), (run, name)
        capsys.readouterr()

        assert nothing == {arguments[0] for arguments in READING.values()}
