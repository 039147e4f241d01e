"""Where two short trainings part that are held in memory."""

from __future__ import annotations

import numpy as np

from stepwatch.diff.parting import HeldStep, NoiseBand, first_parting, noise_band
from stepwatch.model.steps import Mode
from stepwatch.numerics.statistics import summarize

KINDS = {"w": "weights", "output/fc": "outputs", "loss/mse_loss": "losses"}


def step(number, **values):
    """Return a TRAIN step; values of tensors by name, ``_`` for the slash."""
    arrays = {
        name.replace("__", "/"): np.asarray(value, np.float32) for name, value in values.items()
    }
    return HeldStep(
        Mode.TRAIN,
        number,
        tuple(arrays),
        tuple(KINDS[name] for name in arrays),
        ("float32",) * len(arrays),
        np.stack([summarize(one) for one in arrays.values()]),
    )


def run(*scales):
    return [
        step(number, output__fc=[scale, 2.0, 3.0], w=[1.0, scale])
        for number, scale in enumerate(scales)
    ]


class TestFirstParting:
    def test_weights_come_before_what_is_computed_from_them(self):
        """The forward used them, whatever was observed first."""
        found = first_parting(run(1, 1, 1), run(1, 1.5, 2), NoiseBand(), set(KINDS.values()))

        assert ("w", 1, "weights") == (found.tensor, found.mode_step, found.stage)

    def test_rounding_is_no_parting(self):
        """A sum in another order ends in another last digit."""
        close = float(np.nextafter(np.float32(1), np.float32(2)))

        assert first_parting(run(1, 1), run(1, close), NoiseBand(), set(KINDS.values())) is None

    def test_what_equal_runs_differ_by_is_noise_from_there_on(self):
        """Four times as far is allowed, and no more; before that nothing is."""
        band = noise_band((run(1, 1, 1), run(1, 1.01, 1)))
        kinds = set(KINDS.values())

        assert first_parting(run(1, 1, 1), run(1, 1, 1.02), band, kinds) is None
        assert 2 == first_parting(run(1, 1, 1), run(1, 1, 1.2), band, kinds).mode_step
        assert 0 == first_parting(run(1, 1, 1), run(1.02, 1, 1), band, kinds).mode_step

    def test_only_what_is_asked_for_is_compared(self):
        """A relation may change what it does not compare."""
        assert first_parting(run(1), run(2), NoiseBand(), {"losses"}) is None

    def test_a_number_is_told_as_it_is(self):
        """A loss has one element."""
        here, there = ([step(0, loss__mse_loss=value)] for value in (0.5, 1.0))
        found = first_parting(here, there, NoiseBand(), {"losses"})

        assert "sum 1 instead of 0.5" == found.how_far()
