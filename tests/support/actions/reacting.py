"""Findings, and what reacts to them, for the tests of actions."""

from __future__ import annotations

from uuid import uuid4

from stepwatch.actions import Change, Notification
from stepwatch.actions.policy import PolicyEntry, Terms
from stepwatch.actions.reactions import Reactions
from stepwatch.capture.control import Control
from stepwatch.formats.findings import read_actions
from stepwatch.model.finding import Finding
from stepwatch.store.memory import MemoryStore


def finding(step=7, rule="loss_spike", severity="warning", **facts):
    return Finding(rule, step, "loss/mse", "9 is far above 1", severity=severity, **facts)


class Recorded(Notification):
    """Fails so many times, then works; notes each call."""

    def __init__(self, failures=0):
        self.failures = failures
        self.calls = []

    def act(self, finding, place):
        self.calls.append(finding.step)
        if len(self.calls) <= self.failures:
            raise OSError("the line is dead")
        return "told"


class Changed(Change):
    """Notes each call on the training's thread."""

    def __init__(self, result="changed"):
        self.result = result
        self.calls = []

    def change(self, finding, control):
        self.calls.append(finding.step)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class Scene:
    """Reactions to findings in a run that is held in memory.

    Args:
        action: The only one.
        terms: Of its entry.
        store: Where the run lies.
    """

    def __init__(self, *actions, store=None, terms=None, who="worker_0", backoff_s=(0.0,) * 3):
        entries = [
            PolicyEntry(type(action).__name__, action, terms or Terms(), f"id{number}")
            for number, action in enumerate(actions)
        ]
        self.said = []
        self.store = store or MemoryStore(f"memory://scene-{uuid4().hex}")
        self.control = Control()
        self.reactions = Reactions(entries, self.said.append, backoff_s=backoff_s)
        self.reactions.start(self.store, who, {})
        self.reactions.attach(self.control)

    def find(self, *findings):
        for one in findings:
            self.reactions.found(one)
            self.control.answer()
        return self

    def notes(self):
        """End the run and return what was noted."""
        self.control.close()
        self.reactions.finish()
        return read_actions(self.store)

    def outcomes(self):
        return [note.outcome for note in self.notes()]
