"""What a job is to do: plain values, which go into the records as JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import ConfigError

_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """A rule that judges a job, in a process of its own.

    Args:
        rule: A rule spec, such as ``loss_spike:window=64``.
        name: What its status is called; unique in a job.
        actions: What is done about its findings, as ``--on-finding`` takes it; ``stop`` stops
            the job.
    """

    rule: str
    name: str
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What a job runs, and what is captured and judged of it.

    Args:
        name: Letters, digits and inner hyphens, at most 63.
        script: The program that trains, a path.
        arguments: Of the program.
        hyperparameters: Go to the program as ``--key value`` and into its files.
        inputs: Folder of each channel, by name.
        environment: Further variables of the training processes.
        processes: How many processes train together.
        rules: What judges.
        save: What is saved beyond the default, as ``--save`` takes it.
        hook_config: A hook configuration of SageMaker Debugger, instead of ``save``; ``None``
            for none.
        capture: Whether anything is captured.
        tensorboard: Whether TensorBoard's files are written as well.
        output: Folder or URL under which the job's results go, too; empty for nowhere.
        max_run_s: The job is stopped after so many seconds of training.
        retries: How often the training is started again if it fails.
        python: The interpreter.

    Raises:
        ConfigError: A value that cannot be meant.
    """

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    hyperparameters: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: int = 1
    rules: tuple[RuleSpec, ...] = ()
    save: tuple[str, ...] = ()
    hook_config: Mapping[str, Any] | None = None
    capture: bool = True
    tensorboard: bool = False
    output: str = ""
    max_run_s: float = 86_400.0
    retries: int = 0
    python: str = sys.executable

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"{self.name!r} is no name of a job: letters, digits and hyphens between them,"
                " at most 63"
            )
        if self.processes < 1:
            raise ConfigError(f"a job needs at least 1 process, got {self.processes}")
        if self.max_run_s <= 0 or self.retries < 0:
            raise ConfigError(
                f"max_run_s must be positive and retries not negative, got {self.max_run_s} and"
                f" {self.retries}"
            )
        names = [rule.name for rule in self.rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"two rules of a job are called {twice[0]!r}; name one otherwise")

    @property
    def output_url(self) -> str:
        """Where its results go; empty for nowhere."""
        return f"{self.output.rstrip('/')}/{self.name}" if self.output else ""

    @property
    def copy_url(self) -> str:
        """Where its run is copied to while it trains; empty for nowhere."""
        return f"{self.output_url}/debug-output" if self.output else ""

    def to_json(self) -> str:
        """Return the same as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> JobSpec:
        """Return what ``to_json`` wrote."""
        found = json.loads(text)
        rules = tuple(
            RuleSpec(**{**rule, "actions": tuple(rule["actions"])}) for rule in found.pop("rules")
        )
        for name in ("arguments", "save"):
            found[name] = tuple(found[name])
        return cls(rules=rules, **found)
