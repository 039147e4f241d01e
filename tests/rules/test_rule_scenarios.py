"""Every program in which a rule must, or must not, find something."""

from __future__ import annotations

import pytest

from stepwatch.rules import DEFAULT_RULES, StepView, Watch
from tests.support.rules.rule_records import records_of
from tests.support.rules.scenarios import HEALTHY, SCENARIOS

pytestmark = pytest.mark.usefixtures("one_thread")


def _name(program):
    settings = getattr(program, "keywords", {})
    return f"{getattr(program, 'func', program).__name__}{settings or ''}"


def findings(rules, records):
    watch = Watch(rules)
    found = [finding for record in records for finding in watch.evaluate(StepView([record]))]
    return found + watch.finish(), watch


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s.rule}-{_name(s.program)}")
def test_a_rule_speaks_up_when_it_must_and_only_then(scenario):
    """A bad program gives a finding; its healthy twin gives none and was evaluated."""
    found, watch = findings(scenario.rule, records_of(scenario.program))

    expected = "IssuesFound" if scenario.must_fire else "NoIssuesFound"
    assert (expected, scenario.must_fire) == (watch.statuses()[0].status, bool(found))


@pytest.mark.slow
@pytest.mark.parametrize("program", HEALTHY, ids=_name)
def test_the_default_rules_are_silent_on_a_healthy_program(program):
    """Nobody leaves on an alarm that rings in a healthy house."""
    found, watch = findings(DEFAULT_RULES, records_of(program))

    assert [] == [finding.message for finding in found]
    assert {"NoIssuesFound", "NotEvaluated"} >= {status.status for status in watch.statuses()}


def test_the_same_records_give_the_same_findings_to_the_last_byte():
    """Nothing of a finding depends on when or where the rule ran."""
    for scenario in SCENARIOS[:12]:
        records = records_of(scenario.program)
        once, again = (findings(scenario.rule, records)[0] for _ in range(2))
        assert [finding.to_json() for finding in once] == [finding.to_json() for finding in again]


def _by_name(name):
    return next(s.program for s in SCENARIOS if _name(s.program).startswith(name))


@pytest.mark.parametrize(
    ("program", "cause", "tensor"),
    [
        ("log_of_negative", "output", "output/blocks.3"),
        ("nan_in_data", "data", "input/Sequential/0"),
        ("nan_in_backward", "gradient", "gradient/2.weight"),
    ],
)
def test_the_origin_is_named(program, cause, tensor):
    """Of all that is nan, the one that the others have it from."""
    found, _ = findings("non_finite_origin", records_of(_by_name(program)))

    assert [(cause, tensor)] == [(finding.evidence["cause"], finding.tensor) for finding in found]


def test_the_origin_inside_a_block_lies_between_two_of_its_children():
    """What is between modules has no name, but neighbours."""
    (finding,), _ = findings("non_finite_origin", records_of(_by_name("log_of_negative")))

    assert "output/blocks.3.fc" == finding.evidence["last_finite_before"]
    assert "output/blocks.3.out" == finding.evidence["first_bad_inside"]
    assert "NaN arises in blocks.3 between blocks.3.fc (finite) and blocks.3.out (" in (
        finding.message
    )
    assert "look in blocks.3 between blocks.3.fc and blocks.3.out for sqrt, log" in finding.remedy


def test_exploding_regression_is_first_seen_at_step_13():
    """The reference value of a linear regression at learning rate 10."""
    found, _ = findings("exploding_tensor", records_of(_by_name("linear_regression")))

    assert [13] == [finding.step for finding in found]


def test_a_replaced_head_is_told_from_both_sides():
    """Neither the new layer nor the forgotten one is trained."""
    found, _ = findings("untrained_parameter", records_of(_by_name("replaced_head")))

    assert {"not_in_optimizer", "not_in_model"} == {finding.condition for finding in found}
