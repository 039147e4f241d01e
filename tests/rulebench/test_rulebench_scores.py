"""What is counted, and what is not."""

from __future__ import annotations

import pytest
from rulebench.causes import CAUSES
from rulebench.outcome import Outcome, Outcomes
from rulebench.page import tables, write
from rulebench.scores import RuleScore, Score, Verdict, half_of

from stepwatch.model.finding import Finding
from tests.support.rulebench.bench_programs import NO_ZERO_GRAD, PLAIN, outcome


def verdict(program, *found, **fields):
    return Verdict.of(program, outcome(program, *found, **fields))


class TestCauses:
    @pytest.mark.parametrize(
        ("condition", "expected"), [("zero_grad", True), ("not_in_optimizer", False)]
    )
    def test_a_pattern_with_a_condition_names_by_that_condition_only(self, condition, expected):
        """Another condition of the same rule is another diagnosis."""
        finding = Finding("untrained_parameter", 1, "x", "said", condition=condition)

        assert expected is CAUSES["no_zero_grad"].is_named_by(finding)

    def test_a_rule_without_a_condition_names_by_all_of_them(self):
        """``stale_gradients`` alone stands for any of its findings."""
        findings = [Finding("stale_gradients", 1, "x", "said", condition=c) for c in ("", "a")]

        assert [True, True] == [CAUSES["no_zero_grad"].is_named_by(one) for one in findings]


class TestVerdict:
    def test_the_delay_counts_train_steps_from_the_fault(self):
        """An alarm at step 15 on a fault that began at 10 came five steps late."""
        found = verdict(NO_ZERO_GRAD, ("loss_spike", "", 13), ("stale_gradients", "", 15))

        assert (3, 5) == (found.delay, found.right_delay)
        assert (True, True) == (found.detected, found.named)

    def test_an_alarm_before_the_fault_is_a_false_one(self):
        """Nothing was wrong yet, so nothing was detected."""
        found = verdict(NO_ZERO_GRAD, ("stale_gradients", "", 9))

        assert (False, 1) == (found.detected, len(found.false_alarms))

    def test_every_alarm_of_a_healthy_program_is_a_false_one(self):
        """There is no cause that it could name."""
        found = verdict(PLAIN, ("stale_gradients", "", 50))

        assert (False, 1) == (found.detected, len(found.false_alarms))

    def test_lacking_evidence_is_not_the_same_as_finding_nothing(self):
        """Only where each rule that could know ended without a judgement."""
        blind = {"untrained_parameter": "NotEvaluated"}
        seeing = {"untrained_parameter": "NoIssuesFound", "stale_gradients": "NotEvaluated"}
        found = [verdict(NO_ZERO_GRAD, statuses=one) for one in (blind, seeing)]

        assert [True, False] == [one.could_not_check for one in found]


class TestScore:
    def test_faulty_and_healthy_are_counted_apart(self):
        """Two alarms of one healthy training accuse it once."""
        found = [
            verdict(NO_ZERO_GRAD, ("stale_gradients", "", 12)),
            verdict(NO_ZERO_GRAD, ("loss_spike", "", 14)),
            verdict(NO_ZERO_GRAD),
            verdict(PLAIN, ("loss_spike", "", 1), ("overfit", "", 2)),
            verdict(PLAIN),
        ]
        score = Score.of(found)

        assert (3, 2, 1) == (score.faulty, score.detected, score.named)
        assert (2, 1, 2) == (score.healthy, score.accused, score.false_alarms)
        assert (3, 2) == (score.delay, score.right_delay)

    def test_a_rule_is_scored_by_its_own_findings(self):
        """What another rule found is none of its merit."""
        found = [
            verdict(NO_ZERO_GRAD, ("loss_spike", "", 12)),
            verdict(PLAIN, ("loss_spike", "", 1), statuses={"loss_spike": "Error"}),
        ]
        score = RuleScore.of("loss_spike", found)

        assert (1, 0, 0, 1, 1) == (
            score.found, score.named, score.could, score.accused, score.errors
        )  # fmt: skip

    def test_the_split_never_changes(self):
        """Else what was tuned on would be scored on."""
        names = ("digits_no_zero_grad", "lm_no_zero_grad", "plain_digits", "gan_long")
        halves = [half_of(name, seed) for name in names for seed in (0, 1)]

        assert [
            "tuning",
            "scored",
            "scored",
            "scored",
            "scored",
            "scored",
            "tuning",
            "tuning",
        ] == halves


class TestOutcomes:
    def test_what_was_added_is_there_for_the_next(self, tmp_path):
        """Broken off and begun again, nothing that was judged is judged again."""
        path = tmp_path / "outcomes.jsonl"
        Outcomes(path).add(Outcome("plain", 0, "1", trained=7))
        with path.open("a") as file:
            file.write('{"program": "cut o')
        again = Outcomes(path)

        assert 7 == again.judged("plain", 0, "1").trained
        assert again.judged("plain", 0, "2") is None

    def test_a_failure_of_ours_is_tried_again(self, tmp_path):
        """It is told, and says nothing of the rules."""
        outcomes = Outcomes(tmp_path / "outcomes.jsonl")
        outcomes.add(Outcome("plain", 0, "1", failure="killed"))

        assert outcomes.judged("plain", 0, "1") is None


class TestPage:
    def test_only_what_lies_between_the_markers_is_written(self, tmp_path):
        """The words around the tables are written by hand."""
        page = tmp_path / "page.md"
        page.write_text("before\n<!-- rulebench: begin -->\nold\n<!-- rulebench: end -->\nafter\n")
        write("new", page)

        assert (
            "before\n<!-- rulebench: begin -->\n\nnew\n\n<!-- rulebench: end -->\nafter\n"
            == page.read_text()
        )

    def test_the_tables_name_who_was_accused_and_what_was_missed(self):
        """Numbers alone do not say where to look."""
        text = tables(
            [verdict(NO_ZERO_GRAD), verdict(PLAIN, ("overfit", "", 2))], lambda name: "a group"
        )
        missed = text.partition("### Faults without a word")[2]
        accused = text.partition("### Accused though healthy")[2]

        assert "`no_zero_grad`" in missed
        assert "`plain` | 0 | `overfit`" in accused
