"""What to do when the condition of a rule is met.

Actions reach beyond this process: they stop a job or send a message. What starts jobs carries
them out; a rule that is run by hand has nothing that could. So they are read here, and when they
would be due a warning is logged. Nothing about an action ever fails the rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...core.logger import get_logger

# What each action needs to know.
_NEEDS = {"stoptraining": "training_job_prefix", "sms": "endpoint", "email": "endpoint"}


@dataclass(frozen=True)
class Action:
    """One thing to do (``stoptraining``, ``sms`` or ``email``), and its job, number or address."""

    name: str
    target: str
    rule_name: str = field(default="", repr=False)

    def invoke(self, message: str = "") -> None:
        """Log what would be done now."""
        get_logger().warning(
            "rule %s wants %s for %s%s: not done, nothing here can do it",
            self.rule_name, self.name, self.target, message and f" ({message})",
        )  # fmt: skip


class StopTrainingAction(Action):
    """Stop the training job whose name begins with this prefix."""

    def __init__(self, rule_name: str, training_job_prefix: str) -> None:
        super().__init__("stoptraining", training_job_prefix, rule_name)


class MessageAction(Action):
    """Send a message: by ``sms`` to a number, or by ``email`` to an address."""

    def __init__(self, rule_name: str, message_type: str, message_endpoint: str) -> None:
        super().__init__(message_type, message_endpoint, rule_name)


class Actions:
    """All that is to be done for a rule.

    Args:
        actions_str: JSON of one action or of a list; quotes in it may have backslashes before
            them. Nothing for ``None``. What cannot be read is left out, and the log says why.
        rule_name: The rule.

    Example:
        >>> Actions('{"name": "StopTraining", "training_job_prefix": "My-Job"}', "r").actions
        (StopTrainingAction(name='stoptraining', target='My-Job'),)
    """

    def __init__(self, actions_str: str | None, rule_name: str = "") -> None:
        self._rule_name = rule_name
        self._logger = get_logger()
        self.actions = tuple(self._parse((actions_str or "").strip()))

    def invoke(self, message: str = "") -> None:
        """Log what would be done now."""
        for action in self.actions:
            action.invoke(message)

    def _parse(self, text: str) -> Iterator[Action]:
        if not text:
            return
        try:
            parsed = json.loads(text.replace('\\"', '"'))
        except ValueError as error:
            self._leave_out(text, f"it is no JSON ({error})")
            return
        for one in parsed if isinstance(parsed, list) else [parsed]:
            name = str(one.get("name", "")).lower() if isinstance(one, dict) else ""
            if name not in _NEEDS:
                self._leave_out(one, f"there are {', '.join(_NEEDS)}")
            elif not isinstance(one.get(_NEEDS[name]), str):
                self._leave_out(one, f"it needs {_NEEDS[name]}")
            elif name == "stoptraining":
                yield StopTrainingAction(self._rule_name, one[_NEEDS[name]])
            else:
                yield MessageAction(self._rule_name, name, one[_NEEDS[name]])

    def _leave_out(self, what: object, why: str) -> None:
        text = "rule %s: the action %s is left out: %s"
        self._logger.warning(text, self._rule_name, what, why)
