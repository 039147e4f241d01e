"""Stepwatch: see inside a training run and catch what goes wrong.

The public names are loaded when they are first used; importing the package loads no framework
and starts nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .capture.profiling import Profiler as Profiler
    from .cli.in_script import finish as finish
    from .cli.in_script import init as init
    from .cli.in_script import log as log
    from .cli.in_script import save_config as save_config
    from .cli.live_view import LiveView as LiveView
    from .config.profiler_config import ProfilerConfig as ProfilerConfig
    from .config.profiler_config import Range as Range
    from .hooks.torch import TorchHook as TorchHook
    from .hooks.torch.intervene.control import on_checkpoint as on_checkpoint
    from .judge.engine import Watch as Watch
    from .judge.engine import watch as watch
    from .judge.live import LiveWatch as LiveWatch
    from .judge.rule import Rule as Rule
    from .judge.step_view import StepView as StepView
    from .model.collection import Collection as Collection
    from .model.finding import Finding as Finding
    from .model.save_policy import SavePolicy as SavePolicy
    from .model.save_policy import Schedule as Schedule
    from .model.steps import Mode as Mode
    from .trial import Trial as Trial
    from .trial.profile import open_profile as open_profile

__version__ = "0.1.0"

_HOMES = {
    "Collection": "model.collection",
    "Finding": "model.finding",
    "LiveView": "cli.live_view",
    "LiveWatch": "judge.live",
    "Mode": "model.steps",
    "Profiler": "capture.profiling",
    "ProfilerConfig": "config.profiler_config",
    "Range": "config.profiler_config",
    "Rule": "judge.rule",
    "SavePolicy": "model.save_policy",
    "Schedule": "model.save_policy",
    "StepView": "judge.step_view",
    "TorchHook": "hooks.torch",
    "Trial": "trial",
    "Watch": "judge.engine",
    "finish": "cli.in_script",
    "init": "cli.in_script",
    "log": "cli.in_script",
    "on_checkpoint": "hooks.torch.intervene.control",
    "open_profile": "trial.profile",
    "save_config": "cli.in_script",
    "watch": "judge.engine",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'stepwatch' has no attribute {name!r}")
    from .errors import MissingDependency

    try:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    except MissingDependency as error:
        # Who lacks a package learns nothing of where we import it.
        raise error.with_traceback(None) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
