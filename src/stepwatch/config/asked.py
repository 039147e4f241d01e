"""What is asked of collections, settled: what one says itself, else what the hook says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..errors import ConfigError, nearest
from ..hook_config import RAW, SCALAR_COLLECTIONS, HookConfig, SavedCollection, SaveSteps, Stored
from ..steps import Mode
from .frameworks import Framework


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of one collection.

    Args:
        name: Its name.
        patterns: Regular expressions for names of tensors.
        tensors: Names of tensors.
        steps: When to save, for the modes of which it says so.
        stored: What to save; ``None`` if it does not say.
        histogram: Whether TensorBoard gets histograms.
    """

    name: str
    patterns: tuple[str, ...] = ()
    tensors: frozenset[str] = frozenset()
    steps: Mapping[Mode, SaveSteps] = field(default_factory=dict)
    stored: Stored | None = None
    histogram: bool = True

    def settled(self, steps: Mapping[Mode, SaveSteps], stored: Stored) -> SavedCollection:
        """Return the collection, with the hook's word for what it does not say itself."""
        is_scalar = self.name in SCALAR_COLLECTIONS  # one number: there is nothing to reduce
        if self.stored is not None:
            stored = self.stored
        try:
            return SavedCollection(
                self.name,
                tuple(dict.fromkeys(self.patterns)),
                self.tensors,
                {mode: self.steps.get(mode, steps[mode]) for mode in Mode},
                RAW if is_scalar else stored,
                self.histogram and not is_scalar,
            )
        except ConfigError as error:
            raise ConfigError(f"collection {self.name!r}: {error}") from None


def built_in(framework: Framework) -> list[Asked]:
    """Return the collections that a hook of this framework knows by itself."""
    return [Asked(name, patterns) for name, patterns in framework.collections.items()]


def check_filled(config: HookConfig, framework: Framework) -> None:
    """Raise ConfigError for a collection that is not built in and can hold no tensor."""
    for line in empty(config, framework):
        raise ConfigError(line)


def empty(config: HookConfig, framework: Framework) -> list[str]:
    """Return a line for each collection that is not built in and can hold no tensor."""
    known = list(framework.collections)
    return [
        f"collection {name!r} is none of those built in for {framework.name} and has no "
        f"include_regex, so it would hold nothing{nearest(name, known)} (built in are "
        f"{', '.join(known)})"
        for name in unfilled(config.collections, framework)
    ]


def unfilled(collections: Iterable[SavedCollection], framework: Framework) -> list[str]:
    """Return the names of collections that are not built in and can hold no tensor."""
    return [
        one.name
        for one in collections
        if one.name not in framework.collections and not one.patterns and not one.tensors
    ]
