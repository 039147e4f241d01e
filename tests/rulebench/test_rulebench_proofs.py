"""What counts as a right proof, and what as a wrong one."""

from __future__ import annotations

import json

import pytest
from rulebench.causes import CAUSES, PROVED_BY
from rulebench.proofs import NOT, RIGHT, WRONG, Attempt, table

from rulebench import catalogue
from tests.support import ROOT


def attempt(fault: str, cause: str) -> Attempt:
    return Attempt("program", 0, "rate" if fault else "twin", fault, "step_size", cause, "said")


class TestAttempt:
    @pytest.mark.parametrize(
        ("fault", "cause", "expected"),
        [
            ("learning_rate_too_high", "rate", RIGHT),
            ("learning_rate_too_high", "rows", WRONG),
            ("learning_rate_too_high", "", NOT),
            ("no_zero_grad", "rate", WRONG),
            ("", "rate", WRONG),
            ("", "", NOT),
        ],
    )
    def test_only_a_cause_that_stands_for_the_fault_is_right(self, fault, cause, expected):
        """Whatever is proved of a healthy program, or of a fault without any, is wrong."""
        assert expected == attempt(fault, cause).outcome

    def test_faults_are_counted_together_and_twins_apart(self):
        """The last line is of faults only."""
        lines = table([attempt("bit_flip", "memory"), attempt("bit_flip", ""), attempt("", "")])

        assert [
            "| rate | 2 | 1 (50%) | 0 | 1 |",
            "| twin | 1 | 0 (0%) | 0 | 1 |",
            "| all faults | 2 | 1 (50%) | 0 | 1 |",
        ] == lines.splitlines()[2:]


class TestProvedBy:
    def test_it_speaks_of_faults_and_causes_that_there_are(self):
        """Those of the vocabulary, and those that ``stepwatch prove`` may name."""
        schema = json.loads((ROOT / "docs/schemas/prove.schema.json").read_text())
        known = schema["properties"]["proof"]["properties"]["cause"]["enum"]

        assert PROVED_BY.keys() <= CAUSES.keys()
        assert {cause for causes in PROVED_BY.values() for cause in causes} <= set(known)

    def test_a_program_is_found_by_its_name(self):
        """As the script that trains one asks for it."""
        assert "digits_nan_sample" == catalogue.named("digits_nan_sample").name
