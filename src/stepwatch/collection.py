"""Collections: named sets of tensors that share a save policy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from .errors import ConfigError, nearest
from .save_policy import EVERY_STEP, SavePolicy, Schedule

#: What hooks say a tensor is. Every observation belongs to exactly one of these.
BUILT_IN = (
    "weights",
    "buffers",
    "gradients",
    "outputs",
    "inputs",
    "losses",
    "learning_rates",
    "optimizer",
    "optimizer_states",
    "updates",
    "attention",
    "batches",
    "samples",
    "channels",
    "tokens",
    "predictions",
    "labels",
    "log_partition",
    "classes",
    "dependence",
    "derivatives",
    "activity",
    "quantiles",
    "embeddings",
    "routing",
    "loop",
    "metrics",
    "boosting",
    "hyperparameters",
    "feature_importance",
    "average_shap",
    "full_shap",
    "trees",
    "scalars",
    "tensors",
)

_TENTH = SavePolicy(statistics=Schedule(every=10))
# Summaries: a few numbers of each tensor, of which every one is wanted.
_SUMMARY = SavePolicy(statistics=None, raw=Schedule(every=10))
_ON_REQUEST = SavePolicy(statistics=None)
# Looking at these costs a further pass over the tensors, or matrix products.
_DEFAULTS = {
    "optimizer_states": _TENTH,
    "updates": _TENTH,
    "attention": _TENTH,
    "log_partition": _TENTH,
    "batches": SavePolicy(digest=EVERY_STEP),
    "samples": _SUMMARY,
    "classes": _SUMMARY,
    "dependence": SavePolicy(
        statistics=None, raw=Schedule(steps=frozenset((5, 20, 100, 500, 2000, 10_000)))
    ),
    "embeddings": _SUMMARY,
    "routing": _SUMMARY,
    "hyperparameters": SavePolicy(raw=EVERY_STEP),
    "feature_importance": _TENTH,
    # by the rules that need them, or with --save
    "average_shap": _ON_REQUEST,
    "full_shap": _ON_REQUEST,
    "trees": _ON_REQUEST,
    "derivatives": _ON_REQUEST,
    "channels": _ON_REQUEST,
    "tokens": _ON_REQUEST,
    "activity": _ON_REQUEST,
    "quantiles": _ON_REQUEST,
}


def default_policy(name: str) -> SavePolicy:
    """Return what is saved of a built-in collection of which nothing was said."""
    return _DEFAULTS.get(name, _EVERYWHERE)


_EVERYWHERE = SavePolicy()


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of tensors with its save policy.

    Args:
        name: One of ``BUILT_IN``, or a name of your own, which then needs ``patterns``.
        patterns: Regular expressions; a tensor whose name one of them finds anywhere belongs.
        policy: What to save of the tensors, and when.

    Raises:
        ConfigError: An own name without patterns, or a pattern that does not compile.
    """

    name: str
    patterns: tuple[str, ...] = ()
    policy: SavePolicy = field(default_factory=SavePolicy)

    def __post_init__(self) -> None:
        if self.name not in BUILT_IN and not self.patterns:
            raise ConfigError(
                f"collection {self.name!r} is not built in, so it needs a pattern"
                f"{nearest(self.name, BUILT_IN)} (built in: {', '.join(BUILT_IN)})"
            )
        for pattern in self.patterns:
            compiled(pattern)

    def holds(self, tensor: str, kind: str) -> bool:
        """Return whether a tensor of this name and built-in kind belongs here."""
        return self.name == kind or any(re.search(pattern, tensor) for pattern in self.patterns)


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regular expression, compiled; raise ConfigError if it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"pattern {pattern!r} does not compile: {error}") from None


Policy = SavePolicy | Mapping[str, SavePolicy] | Sequence["Collection | str"] | str | None


def as_collections(policy: Policy) -> tuple[Collection, ...]:
    """Return what a ``policy`` argument asks for, as collections.

    Args:
        policy: One ``SavePolicy`` for everything; or one for each built-in collection, by name;
            or collections and ``--save`` texts; ``None`` for the defaults.
    """
    if policy is None:
        return ()
    if isinstance(policy, SavePolicy):
        return tuple(Collection(name, (), policy) for name in BUILT_IN)
    if isinstance(policy, Mapping):
        return tuple(Collection(name, (), one) for name, one in policy.items())
    texts = [policy] if isinstance(policy, str) else policy
    return tuple(parse_save(item) if isinstance(item, str) else item for item in texts)


def parse_save(text: str) -> Collection:
    """Read one ``--save`` argument.

    The form is ``COLLECTION[:WHAT][:every=N,first=N,last=N,steps=A+B+C]``, where COLLECTION is a
    built-in name or ``/regex/`` and WHAT is ``statistics``, ``raw``, ``digest`` or ``exponents``.
    Asking for statistics takes the place of what is saved by default; asking for one of the
    others adds to it.
    ``COLLECTION:none`` saves nothing of it.

    Raises:
        ConfigError: Anything that is not of this form; the message says what would be.

    Example:
        >>> parse_save("gradients:raw:every=100").policy.raw
        Schedule(every=100, first=0, last=None, steps=frozenset())
    """
    if text.startswith("/") and "/" in text[1:]:
        name, rest = text[: text.rindex("/") + 1], text[text.rindex("/") + 1 :]
        patterns: tuple[str, ...] = (name[1:-1],)
    else:
        name, _, rest = text.partition(":")
        patterns, rest = (), f":{rest}" if rest else ""
    _, what, *schedules = rest.split(":", 2) if rest else ("", "statistics")
    if what not in (*_SAVED, "none"):
        raise ConfigError(
            f"--save {text!r}: {what!r} is not {', '.join(_SAVED)} or none"
            "; for example gradients:raw:every=100"
        )
    schedule = _parse_schedule(text, schedules[0]) if schedules else Schedule()
    if what == "none":
        return Collection(name, patterns, SavePolicy(statistics=None))
    usual = SavePolicy() if what == "statistics" else default_policy(name)
    return Collection(name, patterns, replace(usual, **{what: schedule}))


# What can be saved of a tensor, as --save calls it.
_SAVED = tuple(one.name for one in fields(SavePolicy))


def _parse_schedule(text: str, fields: str) -> Schedule:
    values: dict[str, int] = {}
    steps: frozenset[int] = frozenset()
    for part in fields.split(","):
        key, _, value = part.partition("=")
        try:
            if key == "steps":
                steps = frozenset(int(step) for step in value.split("+"))
            elif key in ("every", "first", "last"):
                values[key] = int(value)
            else:
                raise ConfigError(
                    f"--save {text!r}: {part!r} is not every=N, first=N, last=N or steps=A+B+C"
                )
        except ValueError as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"--save {text!r}: {value!r} is not a whole number") from None
    return Schedule(steps=steps, **values)
