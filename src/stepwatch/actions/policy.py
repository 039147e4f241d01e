"""Which action is done about which finding: entries, from what people write.

An entry is a spec, ``name:parameter=value,...``, by the grammar of ``specs``; or an object of a
policy file, whose key ``action`` is the name. A policy file is JSON, which is read everywhere, or
TOML, which has comments but is read only from Python 3.11 on.
"""

from __future__ import annotations

import hashlib
import json
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

from ..errors import ConfigError, nearest
from ..model.finding import SEVERITIES
from ..plugins import registry
from ..plugins.specs import arguments, read_spec, split_specs
from . import Action, ActionContext, Finding, Guard, Notification


class Warn(Notification):
    """Shows a finding and what to do about it."""

    at_once: ClassVar[bool] = True

    def act(self, finding: Finding, context: ActionContext) -> str:
        if finding.severity == "info":
            return "counted, as it is no warning"
        if context.hides(finding):
            return "counted, as it follows from what was shown"
        heading, *below = finding.lines()
        for line in (heading, *(f"    {line}" for line in below)):
            context.say(line)
        return "shown"


GROUP = "stepwatch.actions"
_EXAMPLE = "stop:rules=loss_*,severity=error"


@dataclass(frozen=True, slots=True)
class Terms:
    """When an action is done; the same for every action.

    Args:
        rules: Patterns of the names of rules, such as ``loss_*``; all if empty.
        severity: The least severity; that of the action by default.
        at_most: How often in a run; as often as the action says by default.
        cooldown_steps: It is done again only about a finding so many steps later.
        dry_run: Only say and note what would be done.

    Raises:
        ConfigError: An invalid value.
    """

    rules: tuple[str, ...] = ()
    severity: str | None = None
    at_most: int | None = None
    cooldown_steps: int = 0
    dry_run: bool = False

    def __post_init__(self) -> None:
        if self.severity is not None and self.severity not in SEVERITIES:
            raise ConfigError(
                f"severity must be one of {', '.join(SEVERITIES)}, got {self.severity!r}"
                f"{nearest(self.severity, SEVERITIES)}"
            )
        if self.at_most is not None and self.at_most < 1:
            raise ConfigError(f"at_most must be at least 1, got {self.at_most}")
        if self.cooldown_steps < 0:
            raise ConfigError(f"cooldown_steps must be at least 0, got {self.cooldown_steps}")


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """An action, and when it is done.

    Args:
        name: The name of the action.
        action: The action itself.
        terms: When it is done.
        entry_id: 16 hexadecimal digits that are the same for the same spec.

    Raises:
        ConfigError: Terms that the action cannot have.
    """

    name: str
    action: Action
    terms: Terms = field(default_factory=Terms)
    entry_id: str = ""

    def __post_init__(self) -> None:
        least, requested = self.action.least_severity, self.terms.severity
        if requested is not None and _rank(requested) < _rank(least):
            raise ConfigError(
                f"{self.name} is done about severity {least} or above, not {requested}"
            )
        if isinstance(self.action, Guard) and (self.terms.rules or requested):
            raise ConfigError(
                f"{self.name} judges by itself, before any rule can; leave out rules and severity"
            )

    @property
    def at_most(self) -> int | None:
        """How often it is done in a run; ``None`` for always."""
        return self.action.at_most if self.terms.at_most is None else self.terms.at_most

    def wants(self, finding: Finding) -> bool:
        """Return whether it is about findings such as this."""
        least = self.terms.severity or self.action.least_severity
        is_ours = not self.terms.rules or any(
            fnmatchcase(finding.rule, pattern) for pattern in self.terms.rules
        )
        is_due = _rank(finding.severity) >= _rank(least)
        return is_ours and is_due and not isinstance(self.action, Guard)


def parse_actions(texts: str | Sequence[str]) -> list[PolicyEntry]:
    """Build a policy from specs and policy files.

    Args:
        texts: Each one or more specs, separated by ``;``. What ends in ``.json`` or ``.toml`` is
            a policy file.

    Returns:
        In the order asked for; before them ``warn``, which shows every finding, unless it is
        among them.

    Raises:
        ConfigError: An unknown action or parameter, or a value that does not fit.

    Example:
        >>> [entry.name for entry in parse_actions("stop:rules=loss_*; checkpoint")]
        ['warn', 'stop', 'checkpoint']
    """
    entries: list[PolicyEntry] = []
    for text in [texts] if isinstance(texts, str) else texts:
        for spec in split_specs(text):
            if spec.endswith((".json", ".toml")) and "=" not in spec:
                entries += map(_from_mapping, _read(Path(spec).expanduser()))
            else:
                entries.append(build(*read_spec(spec, kind="action", example=_EXAMPLE)))
    if not any(isinstance(entry.action, Warn) for entry in entries):
        entries.insert(0, build("warn", {}))
    return entries


def check_rules(entries: Sequence[PolicyEntry], rules: Collection[str]) -> None:
    """Raise for an action about rules of which none is evaluated: it would never be done.

    Args:
        entries: The policy.
        rules: The names of those that are evaluated.

    Raises:
        ConfigError: A pattern that is none of the names.
    """
    for entry in entries:
        for pattern in entry.terms.rules:
            if not any(fnmatchcase(name, pattern) for name in rules):
                raise ConfigError(
                    f"{entry.name}: no rule that looks is named {pattern!r}; there are"
                    f" {', '.join(rules) or 'none'}{nearest(pattern, rules)}"
                )


def build(name: str, parameters: Mapping[str, object]) -> PolicyEntry:
    """Build one entry from the name of an action and its parameters.

    Args:
        name: In any spelling: ``skip_batch``, ``skip-batch``.
        parameters: Texts, or values of the right types; those that the action does not have
            itself go to its ``Terms``.
    """
    kind = find_action(name)
    known = _known_name(kind, name)
    for_action, for_terms = arguments(known, kind, Terms, parameters, noun="action")
    try:
        action, terms = kind(**for_action), Terms(**for_terms)
    except ConfigError as error:
        message = str(error)
        raise ConfigError(message if message.startswith(known) else f"{known}: {message}") from None
    # Of the action alone: the same message is not sent again because it is now sent less often.
    what = json.dumps([known, for_action], sort_keys=True, default=str)
    return PolicyEntry(
        known, action, terms, hashlib.blake2b(what.encode(), digest_size=8).hexdigest()
    )


def find_action(name: str) -> type[Action]:
    """Return the class of an action by its name.

    Raises:
        ConfigError: There is none, or what is installed under the name is none.
    """
    found = registry.load(GROUP, name)
    if not (isinstance(found, type) and issubclass(found, Action)):
        raise ConfigError(f"the action {name!r} is no class of stepwatch.actions: {found!r}")
    return found


def _known_name(kind: type[Action], name: str) -> str:
    known = registry.names(GROUP)
    return next((one for one in known if registry.load(GROUP, one) is kind), name)


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity)


def _from_mapping(spec: object) -> PolicyEntry:
    if not isinstance(spec, Mapping) or not isinstance(spec.get("action"), str):
        raise ConfigError(f"an entry of a policy needs the key 'action' with its name, got {spec}")
    return build(spec["action"], {key: value for key, value in spec.items() if key != "action"})


def _read(path: Path) -> list[object]:
    """Return the entries of a policy file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"the policy {path} cannot be read: {error.strerror}") from None
    try:
        content = json.loads(text) if path.suffix == ".json" else _toml().loads(text)
    except ValueError as error:
        raise ConfigError(f"the policy {path} cannot be read: {error}") from None
    entries = content.get("actions") if isinstance(content, Mapping) else content
    if not isinstance(entries, list):
        raise ConfigError(f"the policy {path} needs a list 'actions' of objects")
    return entries


def _toml() -> Any:
    try:
        import tomllib
    except ModuleNotFoundError:
        raise ConfigError("TOML needs Python 3.11; write the policy as JSON") from None
    return typing.cast("Any", tomllib)
