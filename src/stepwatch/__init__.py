"""Stepwatch: see inside a training run and catch what goes wrong.

The public names are loaded when they are first used; importing the package loads no framework
and starts nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .capture.profiling import Profiler as Profiler
    from .collection import Collection as Collection
    from .finding import Finding as Finding
    from .hooks.torch import TorchHook as TorchHook
    from .hooks.torch.checkpoints import on_checkpoint as on_checkpoint
    from .profiler_config import ProfilerConfig as ProfilerConfig
    from .profiler_config import Range as Range
    from .rules.live import LiveWatch as LiveWatch
    from .rules.rule import Rule as Rule
    from .rules.step_view import StepView as StepView
    from .rules.watch import Watch as Watch
    from .rules.watch import watch as watch
    from .save_policy import SavePolicy as SavePolicy
    from .save_policy import Schedule as Schedule
    from .steps import Mode as Mode
    from .trial import Trial as Trial
    from .trial.open_profile import open_profile as open_profile

__version__ = "0.1.0"

_HOMES = {
    "Collection": "collection",
    "Finding": "finding",
    "LiveWatch": "rules.live",
    "Mode": "steps",
    "Profiler": "capture.profiling",
    "ProfilerConfig": "profiler_config",
    "Range": "profiler_config",
    "Rule": "rules.rule",
    "SavePolicy": "save_policy",
    "Schedule": "save_policy",
    "StepView": "rules.step_view",
    "TorchHook": "hooks.torch",
    "Trial": "trial",
    "Watch": "rules.watch",
    "on_checkpoint": "hooks.torch.checkpoints",
    "open_profile": "trial.open_profile",
    "watch": "rules.watch",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'stepwatch' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
