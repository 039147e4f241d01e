"""A logger for PyTorch Lightning, under either of its names."""

# ruff: noqa: ARG002  a trainer gives all of it to everybody
from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# First, so that who waits for this import has hooked it before what follows.
if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning.loggers import Logger
else:
    from lightning.pytorch.loggers import Logger

from ..cli.in_script import init, save_config
from ..hooks.lightning import LightningHook

__all__ = ["LightningHook", "StepwatchLogger"]


class StepwatchLogger(Logger):  # type: ignore[misc]  # it may not be installed
    """A logger of a trainer: watches what it trains, and keeps its hyperparameters.

    What a module logs is saved with its step by the hook, which every trainer gets that is made
    from then on. The run ends with Python, or by ``stepwatch.finish()``.

    Args:
        name: What people call the run.
        project: What it belongs to.
        options: Those of ``stepwatch.init``.

    Example:
        ``Trainer(logger=[StepwatchLogger("first"), CSVLogger("logs")])``
    """

    def __init__(self, name: str = "", project: str = "", **options: Any) -> None:
        super().__init__()
        self._name, self._path = name, init(name, project=project, **options).path

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> str:
        """The name of the run's folder."""
        return Path(self._path).name

    @property
    def save_dir(self) -> str:
        """The folder in which runs lie."""
        return str(Path(self._path).parent)

    @property
    def log_dir(self) -> str:
        """Where the run lies."""
        return self._path

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Do nothing: the hook has them."""

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Keep hyperparameters of the module."""
        save_config(params)
