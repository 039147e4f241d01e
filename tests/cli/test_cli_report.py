"""``stepwatch report`` writes what suits a run, where it is asked to."""

from __future__ import annotations

import json

import pytest

from stepwatch.testing import make_run


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A small run, in the folder where the command runs."""
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "small", steps=5)
    return "small"


def test_a_page_beside_the_run(verb, run, tmp_path):
    """Named after the run and the kind."""
    assert (0, "wrote small-run.html\n", "") == verb("report", run)

    assert "<!doctype html>" == (tmp_path / "small-run.html").read_text()[:15]


def test_another_kind_elsewhere(verb, run, tmp_path):
    """Whatever is asked for."""
    assert 0 == verb("report", run, "--kind", "profiler", "-o", "p.html")[0]

    assert "No step was timed" in (tmp_path / "p.html").read_text()


def test_the_document_as_json(verb, run):
    """With the rules that were asked."""
    _, out, _ = verb("report", run, "--json", "--rules", "exploding_tensor")

    made = json.loads(out)
    assert ("run", 1) == (made["kind"], made["schema_version"])
    (line,) = next(one for one in made["sections"] if one["key"] == "rules")["blocks"]
    assert "Passed (1): exploding_tensor" == line["text"]


def test_it_is_shown_in_a_browser(verb, run, tmp_path, monkeypatch):
    """In whatever the system opens pages with."""
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    verb("report", run, "--open")

    assert [(tmp_path / "small-run.html").as_uri()] == opened


def test_show_draws_the_same(verb, run, tmp_path):
    """And with names a page about these tensors."""
    assert 0 == verb("show", run, "--plot", "a.html")[0]
    assert 0 == verb("show", run, "--plot", "b.html", "--tensor", "^gradient/")[0]

    assert "What was captured, and what is missing" in (tmp_path / "a.html").read_text()
    assert "0 findings about 2 tensors" in (tmp_path / "b.html").read_text()


class TestRefused:
    def test_no_such_run(self, refused):
        """In one line."""
        assert "no run" in refused("report", "nowhere")

    def test_no_such_kind(self, refused):
        """With those that there are."""
        assert "profiler" in refused("report", "nowhere", "--kind", "other")

    def test_no_place_to_write_to(self, refused, tmp_path):
        """What the system says."""
        make_run(tmp_path / "small", steps=2)

        assert "cannot write" in refused("report", "small", "-o", "missing/page.html")


class TestSeveral:
    def test_each_is_a_page_of_its_name(self, verb, tmp_path):
        for name in ("one/a", "two/a"):
            make_run(tmp_path / "runs" / name, steps=5)
        status, out, _ = verb("report", tmp_path / "runs", "-o", tmp_path / "pages")

        assert (0, f"wrote 2 pages to {tmp_path / 'pages'}\n") == (status, out)
        assert ["one-a.html", "two-a.html"] == sorted(
            path.name for path in (tmp_path / "pages").iterdir()
        )

    def test_one_that_cannot_be_read_ends_none_of_the_others(self, verb, tmp_path):
        make_run(tmp_path / "runs/well", steps=5)
        (tmp_path / "runs/torn").mkdir()
        (tmp_path / "runs/torn/run.json").write_text("{")
        status, out, err = verb("report", tmp_path / "runs", "-o", tmp_path / "pages")

        assert (2, f"wrote 1 page to {tmp_path / 'pages'}\n") == (status, out)
        about, counted = err.splitlines()
        assert about.startswith(f"stepwatch: {tmp_path}/runs/torn: run.json is damaged")
        assert "stepwatch: 1 of 2 runs failed" == counted

    def test_only_one_is_shown_or_printed(self, verb, tmp_path):
        for name in ("one", "two"):
            make_run(tmp_path / name, steps=5)

        assert 2 == verb("report", tmp_path / "one", tmp_path / "two", "--json")[0]
