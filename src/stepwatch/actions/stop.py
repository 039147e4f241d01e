"""Stop the training."""

from __future__ import annotations

from ..finding import Finding
from . import Action, Training
from .warn import warn


def stop(training: Training) -> Action:
    """Return an action that shows a finding and stops the training after its step.

    What is only informative (severity ``info``) stops nothing.
    """
    show = warn(training)

    def act(finding: Finding) -> None:
        show(finding)
        if finding.severity != "info":
            training.stop(finding.headline())

    return act
