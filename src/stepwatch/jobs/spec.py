"""What a job is to do: plain values, which go into the records as JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import ConfigError
from ..model.json_text import parse_json
from .ray.cluster import resources

_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """A rule that judges a job, in a process of its own.

    Args:
        rule: A rule spec, such as ``loss_spike:window=64``; or the ``RuleParameters`` of a rule
            that is configured as SageMaker's are, whose ``source_s3_uri`` is the file of one's own.
        name: What its status is called; unique in a job.
        actions: What is done about its findings, as ``--on-finding`` takes it; ``stop`` stops
            the job.
        stops: What the name of the job begins with that ``stop`` stops; by default it is the job
            that is judged.
    """

    rule: str | Mapping[str, str]
    name: str
    actions: tuple[str, ...] = ()
    stops: str = ""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What a job runs, and what is captured and judged of it.

    Args:
        name: Letters, digits and inner hyphens, at most 63.
        script: The program that trains, a path; empty if ``judges`` says what to do instead.
        arguments: The arguments of the program.
        source: Folder or archive, here or at a URL, in which the script lies; empty if it is
            where ``script`` says.
        hyperparameters: Go to the program as ``--key value`` and into its files.
        inputs: Folder or URL of each channel, by name.
        environment: Further variables of the training processes.
        processes: How many processes train together.
        rules: The rules that judge it.
        save: What is saved beyond the default, as ``--save`` takes it.
        hook: A hook configuration of SageMaker Debugger, instead of ``save``; ``None`` for none.
        capture: Whether anything is captured.
        audits: Whether a job fails whose training completed and left a model, or a last checkpoint,
            with values that are not finite.
        tensorboard: A TensorBoard configuration of SageMaker; ``None`` to write no such files.
        profiler: A profiler configuration of SageMaker; ``None`` for the default.
        output: Folder or URL under which the job's results go, too; empty for nowhere. Each
            configuration may name another one, ``S3OutputPath``.
        checkpoints: Folder or URL from which checkpoints come, and to which they go; empty for
            none.
        metrics: A regular expression for each number that it prints, by the name of the number.
        max_run_s: The job is stopped after so many seconds of training.
        retries: How often the training is started again if it fails.
        python: The interpreter.
        ray: What each of its processes takes of a Ray cluster, on whose nodes it then trains, such
            as ``CPU=2,GPU=1``; empty to train on this machine.
        judges: A run that its rules judge; then nothing is trained.
        request: The request of a client, kept to be shown to it.

    Raises:
        ConfigError: An invalid value.
    """

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    source: str = ""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: int = 1
    rules: tuple[RuleSpec, ...] = ()
    save: tuple[str, ...] = ()
    hook: Mapping[str, Any] | None = None
    capture: bool = True
    audits: bool = True
    tensorboard: Mapping[str, Any] | None = None
    profiler: Mapping[str, Any] | None = None
    output: str = ""
    checkpoints: str = ""
    metrics: Mapping[str, str] = field(default_factory=dict)
    max_run_s: float = 86_400.0
    retries: int = 0
    python: str = sys.executable
    ray: str = ""
    judges: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"{self.name!r} is no name of a job: letters, digits and hyphens between them,"
                " at most 63"
            )
        if self.ray:
            resources(self.ray)  # an invalid value is an error now
        if self.processes < 1:
            raise ConfigError(f"a job needs at least 1 process, got {self.processes}")
        if self.max_run_s <= 0 or self.retries < 0:
            raise ConfigError(
                f"max_run_s must be positive and retries not negative, got {self.max_run_s} and"
                f" {self.retries}"
            )
        for name, pattern in self.metrics.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ConfigError(
                    f"the metric {name!r} has no regular expression: {error}"
                ) from None
        if self.hook is not None and self.save:
            raise ConfigError("hook and save each say what to save; give one of them")
        names = [rule.name for rule in self.rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(f"two rules of a job are called {twice[0]!r}; name one otherwise")

    @property
    def output_url(self) -> str:
        """Where its results go; empty for nowhere."""
        return self._url(None)

    @property
    def copy_url(self) -> str:
        """Where its run is copied to while it trains; empty for nowhere."""
        return self._url(self.hook, "/debug-output")

    @property
    def tensorboard_url(self) -> str:
        """Where TensorBoard's files go in the end; empty for nowhere."""
        return self._url(self.tensorboard, "/tensorboard-output")

    @property
    def profile_url(self) -> str:
        """Where its profile goes in the end; empty for nowhere."""
        is_off = (self.profiler or {"DisableProfiler": True}).get("DisableProfiler")
        return "" if is_off else self._url(self.profiler, "/profiler-output")

    def _url(self, configuration: Mapping[str, Any] | None, below: str = "") -> str:
        output = str((configuration or {}).get("S3OutputPath") or self.output)
        return f"{output.rstrip('/')}/{self.name}{below}" if output else ""

    def to_json(self) -> str:
        """Return the same as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> JobSpec:
        """Return what ``to_json`` wrote."""
        found = parse_json(text)
        rules = tuple(
            RuleSpec(**{**rule, "actions": tuple(rule["actions"])}) for rule in found.pop("rules")
        )
        for name in ("arguments", "save"):
            found[name] = tuple(found[name])
        return cls(rules=rules, **found)
