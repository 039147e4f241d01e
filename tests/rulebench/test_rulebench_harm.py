"""A mutant that learns as well as the original is no fault."""

from __future__ import annotations

import json

import pytest
from rulebench.faults.transformers import TRANSFORMERS

from rulebench import harm

NOISE = (0.0, 0.03, -0.02, 0.01, -0.03)


def losses(of_mutants):
    """Return losses of all that is trained: twins end at 2 nats, give or take."""
    twins = {mutant.twin.name for mutant in TRANSFORMERS}
    found = {(name, seed): 2.0 + NOISE[seed] for name in twins for seed in harm.SEEDS}
    for mutant in TRANSFORMERS:
        found |= {(mutant.name, seed): of_mutants(seed) for seed in harm.SEEDS}
    return found


class TestHarm:
    @pytest.mark.parametrize(
        ("of_mutants", "expected"),
        [
            (lambda seed: 2.2 + NOISE[seed], True),
            (lambda seed: 2.005 + NOISE[seed], False),
            (lambda seed: 2.05 - 3 * NOISE[seed], False),
            (lambda seed: 1.5, False),
            (lambda seed: None if seed == 3 else 2.0, True),
        ],
        ids=["clearly worse", "hardly worse", "worse by luck", "better", "ends in nan"],
    )
    def test_harm_must_be_large_and_certain(self, of_mutants, expected):
        """Over five seeds, in nats and in standard errors; or the training ends in nan."""
        rows = harm.table(losses(of_mutants))

        assert {expected} == {row["hurts"] for row in rows.values()}

    def test_the_file_holds_every_mutant(self):
        """One line each, as JSON."""
        rows = harm.table(losses(lambda seed: 3.0))

        assert rows == json.loads(harm.to_json(rows))
        assert [mutant.name for mutant in TRANSFORMERS] == [*rows]
