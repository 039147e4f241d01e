"""Logits that drift where softmax does not see it, found before they are far away."""

from __future__ import annotations

import numpy as np

from tests.support.rules.made_steps import full_step, judged, steps_at


def drifting(slope, total):
    """Return the looks at a training whose logits drift, with the plan of its schedule."""
    return [
        full_step(
            {
                "predictions": {"prediction/cross_entropy": np.array([-1.0, 1.0]) + slope * step},
                "log_partition": {"log_partition/cross_entropy": np.array([1.3 + slope * step])},
                "loop": {"loop/scheduler_total": total, "loop/scheduler_steps": float(step)},
            },
            step,
        )
        for step in range(0, 1000, 10)
    ]


class TestAtTheEnd:
    def test_logits_that_will_be_far_from_zero_at_the_end_are_found_before(self):
        """With the third look of which a slope is known they are 6 away, and would be 51."""
        (found, *_), _ = judged("output_logit_drift", drifting(0.025, total=2000.0))

        assert (210, 50.0) == (found.step, found.threshold)
        assert "51.3 at the end if it goes on so" in found.message

    def test_without_an_end_they_are_found_when_they_are_there(self):
        """At a log-partition of 20, with the third look."""
        assert [770] == steps_at("output_logit_drift", drifting(0.025, total=np.nan))

    def test_logits_that_hardly_move_are_let_be(self):
        assert [] == steps_at("output_logit_drift", drifting(0.005, total=2000.0))
