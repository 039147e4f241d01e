"""Embeddings that are looked up by the ids of another one, and others that are meant so."""

from __future__ import annotations

import pytest

from stepwatch.rules import Finding
from tests.support.rules.lookup_programs import CASES
from tests.support.rules.rule_runs import assert_live_is_replay, judge

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.condition])
def test_ids_of_another_embedding_are_named(name, tmp_path):
    """By their condition, once, live and in replay."""
    case = CASES[name]
    found, statuses = judge(case.program, case.rule, tmp_path / "run")

    assert [case.condition] == [Finding.from_json(one).condition for one in found]
    assert_live_is_replay(tmp_path / "run", case.rule, found, statuses)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.condition])
def test_ids_of_its_own_are_not_accused(name, tmp_path):
    case = CASES[name]
    found, _ = judge(case.program, case.rule, tmp_path / "run")

    assert [] == found


def test_both_embeddings_are_named(tmp_path):
    (text,), _ = judge(CASES["the same without a bias"].program, "setup", tmp_path / "run")
    found = Finding.from_json(text)

    assert ("setup/other_ids/item>user", "warning") == (found.tensor, found.severity)
    assert found.message.startswith("item is only ever looked up by the ids of user")
