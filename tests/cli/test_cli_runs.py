"""``stepwatch runs`` and the names of runs: what people call a run, and how they find it again."""

from __future__ import annotations

import io
import json
import os

import pytest

from stepwatch.cli.run_names import find_run
from stepwatch.errors import RunNotFound
from stepwatch.formats.settings import RunSettings, read_settings, write_settings
from stepwatch.store import open_store
from stepwatch.testing import make_run

#: Older first.
RUNS = {
    "a": RunSettings("resnet", "vision", ("small", "night"), "the first"),
    "b": RunSettings("bert", "text", ("small",), config={"lr": 0.1}),
    "c": RunSettings(),
}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder ``runs`` with three runs, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEPWATCH_RUNS", raising=False)
    for number, (name, settings) in enumerate(RUNS.items()):
        store = open_store(make_run(tmp_path / "runs" / name, steps=3 + number))
        if settings != RunSettings():
            write_settings(store, settings)
        os.utime(tmp_path / "runs" / name / "run.json", (1000 + number, 1000 + number))
    return tmp_path / "runs"


def names(listed):
    return [one["run"] for one in json.loads(listed)["runs"]]


class TestNames:
    @pytest.mark.parametrize(
        ("name", "expected"), [("latest", "c"), ("-1", "c"), ("-3", "a"), ("b", "b")]
    )
    def test_a_run_is_named_by_its_age_or_its_name_in_the_folder(self, runs, name, expected):
        assert os.path.join("runs", expected) == find_run(name)

    def test_a_path_that_is_there_counts_more(self, runs):
        os.mkdir("latest")
        assert "latest" == find_run("latest")

    def test_what_names_nothing_stays_as_it_is(self, runs):
        assert ["elsewhere/x", "s3://bucket/x"] == list(
            map(find_run, ("elsewhere/x", "s3://bucket/x"))
        )

    def test_more_than_there_are_is_said(self, runs):
        with pytest.raises(RunNotFound, match="no run '-4': there are 3 runs in runs"):
            find_run("-4")

    @pytest.mark.parametrize("arguments", [["show", "-1"], ["check", "latest"], ["verify", "-2"]])
    def test_every_verb_takes_them(self, runs, verb, arguments):
        assert verb(*arguments)[0] in (0, 1)

    @pytest.mark.parametrize("name", ["show", "check", "blackbox", "profile", "report", "watch"])
    def test_verbs_that_only_look_take_the_newest_by_themselves(self, runs, verb, capsys, name):
        """And say which it is, not in what programs read."""
        alone, named = verb(name, "--json"), verb(name, "latest", "--json")

        assert alone[:2] == named[:2]
        assert "the newest run, runs/c" in alone[2]
        assert "newest" not in named[2]

    def test_where_there_is_no_run_they_say_so(self, tmp_path, monkeypatch, verb):
        monkeypatch.chdir(tmp_path)

        assert "no run 'latest': there is no run in runs" in verb("show")[2]

    def test_two_of_them_are_compared(self, runs, verb):
        assert "only in " in verb("diff", "-2", "-1")[1]


class TestRuns:
    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], ["a", "b", "c"]),
            (["--tag", "small"], ["a", "b"]),
            (["--tag", "small", "--tag", "night"], ["a"]),
            (["--project", "text"], ["b"]),
            (["--name", "res*"], ["a"]),
            (["--name", "c"], ["c"]),
            (["--state", "failed"], []),
            (["--sort", "steps", "--reverse"], ["c", "b", "a"]),
        ],
    )
    def test_they_are_filtered_and_sorted(self, runs, verb, options, expected):
        assert expected == names(verb("runs", "--json", *options)[1])

    def test_a_pattern_lists_those_that_it_fits(self, tmp_path, verb):
        for name in ("a/one", "a/two", "b/one"):
            make_run(tmp_path / name, steps=3)

        listed = json.loads(verb("runs", f"{tmp_path}/?/o*", "--json")[1])["runs"]
        assert {"one"} == {one["run"].rpartition("/")[2] for one in listed}
        assert 2 == len(listed)

    def test_what_they_are_called_is_shown_where_any_is(self, runs, verb):
        shown = verb("runs")[1]
        assert "resnet" in shown
        assert "night" in shown
        assert "project" not in verb("runs", "--name", "c")[1]

    def test_those_that_are_listed_are_removed_after_asking(self, runs, verb, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
        verb("runs", "--tag", "small", "--remove")
        assert {"a", "b", "c"} == set(os.listdir(runs))
        told = verb("runs", "--tag", "small", "--remove", "--yes")
        assert "removed 2 runs" in told[1]
        assert ["c"] == os.listdir(runs)

    def test_a_run_of_others_stays(self, tmp_path, verb):
        (tmp_path / "logged.csv").write_text("step,loss\n0,1\n1,0.5\n")
        told = verb("runs", str(tmp_path), "--remove", "--yes")
        assert "stays: it was not written by stepwatch" in told[2]
        assert (tmp_path / "logged.csv").is_file()


class TestSettings:
    def test_they_are_stored_beside_the_run_and_shown(self, runs, verb):
        assert RUNS["b"] == read_settings(open_store(runs / "b"))
        assert "lr=0.1" in verb("show", "b")[1]

    @pytest.mark.parametrize("data", [b"", b"[]", b'{"tags": [1]}', b'{"config": 3}', b"\xff"])
    def test_what_is_damaged_is_as_if_it_were_not_there(self, tmp_path, data):
        store = open_store(tmp_path)
        store.put("settings.json", data)
        assert RunSettings() == read_settings(store)

    def test_a_run_is_given_them_by_options(self, write, stepwatch, tmp_path):
        script = write("train()\n")
        stepwatch("run", "--name", "my net", "--tag", "x", "--project", "p", "--note", "n", script)
        (run,) = (tmp_path / "runs").iterdir()

        assert run.name.startswith("my-net-")
        assert RunSettings("my net", "p", ("x",), "n") == read_settings(open_store(run))
