"""What to do when a rule fires: stop the training job, or send a message."""

from __future__ import annotations

import json
import re

from stepwatch.errors import ConfigError

from ..errors import InvalidAction

_PREFIX = re.compile(r"[A-Za-z0-9\-]+")
# The user part may hold whatever mail servers take: dots, plus signs, capitals.
_ADDRESS = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_PHONE = re.compile(r"\+\d{1,15}")


class Action:
    """One thing to do when a rule fires.

    Args:
        name: What the evaluator of rules calls it.
        parameters: What it needs to know.
    """

    def __init__(self, name: str, **parameters: str) -> None:
        self.action_parameters = {**parameters, "name": name}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.action_parameters!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Action):
            return NotImplemented
        return self.action_parameters == other.action_parameters

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.action_parameters.items())))

    def serialize(self) -> str:
        """Return the action as JSON, the text that a rule gets as ``action_json``."""
        return json.dumps(self.action_parameters)

    def update_training_job_prefix_if_not_specified(self, training_job_name: str) -> None:
        """Take the name of the job to act on, if the action acts on a job."""


class StopTraining(Action):
    """Stop the training job.

    Args:
        training_job_prefix: What the name of the job starts with; by default the job that the
            rule watches.

    Raises:
        ConfigError: Letters, digits and hyphens are all that a name of a job has.
    """

    def __init__(self, training_job_prefix: str | None = None) -> None:
        self.use_default_training_job_prefix = training_job_prefix is None
        if training_job_prefix is None:
            super().__init__("stoptraining")
            return
        _check(
            "training_job_prefix", training_job_prefix, _PREFIX, "be letters, digits and hyphens"
        )
        super().__init__("stoptraining", training_job_prefix=training_job_prefix)

    def update_training_job_prefix_if_not_specified(self, training_job_name: str) -> None:
        """Take the name of the job, unless a prefix was given."""
        if self.use_default_training_job_prefix:
            self.action_parameters["training_job_prefix"] = training_job_name


class Email(Action):
    """Send a mail to an address.

    Raises:
        ConfigError: It is no address.
    """

    def __init__(self, email_address: str) -> None:
        _check("email_address", email_address, _ADDRESS, "look like name@example.com")
        super().__init__("email", endpoint=email_address)


class SMS(Action):
    """Send a text message to a number in the international form (E.164).

    Raises:
        ConfigError: It is no such number.
    """

    def __init__(self, phone_number: str) -> None:
        wanted = "be + and up to 15 digits, such as +4915112345678"
        _check("phone_number", phone_number, _PHONE, wanted)
        super().__init__("sms", endpoint=phone_number)


def _check(name: str, value: object, pattern: re.Pattern[str], wanted: str) -> None:
    if not (isinstance(value, str) and pattern.fullmatch(value)):
        raise ConfigError(f"{name} must {wanted}, got {value!r}")


class ActionList:
    """Several actions, in order.

    Raises:
        InvalidAction: One of them is no action.
    """

    def __init__(self, *actions: Action) -> None:
        for action in actions:
            if not isinstance(action, Action):
                raise InvalidAction(
                    f"an ActionList holds StopTraining, Email and SMS, got {action!r}"
                )
        self.actions = actions

    def __repr__(self) -> str:
        return f"ActionList{self.actions!r}"

    def serialize(self) -> str:
        """Return the actions as a JSON array."""
        return json.dumps([action.action_parameters for action in self.actions])

    def update_training_job_prefix_if_not_specified(self, training_job_name: str) -> None:
        """Hand the name of the job to the actions."""
        for action in self.actions:
            action.update_training_job_prefix_if_not_specified(training_job_name)


def is_valid_action_object(actions: object) -> bool:
    """Return whether something can stand as the ``actions`` of a rule."""
    return isinstance(actions, Action | ActionList)
