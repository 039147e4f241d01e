"""A tracker for Hugging Face Accelerate: what its scripts log becomes a run that rules judge.

Importing this makes the name ``stepwatch`` known to it, where it has a register of such names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import accelerate.tracking
from accelerate.tracking import GeneralTracker

from ..cli.in_script import finish, init, log, save_config


class StepwatchTracker(GeneralTracker):  # type: ignore[misc]  # it may not be installed
    """Watches what a script trains, and takes what it logs by ``accelerator.log``.

    Args:
        project: What the run belongs to.
        options: Those of ``stepwatch.init``.

    Example:
        ``Accelerator(log_with=StepwatchTracker("demo"))``, or, once this was imported,
        ``Accelerator(log_with="stepwatch")``.
    """

    name: ClassVar[str] = "stepwatch"
    requires_logging_directory: ClassVar[bool] = False
    #: Each process trains, and is watched.
    main_process_only: ClassVar[bool] = False

    def __init__(self, project: str = "", **options: Any) -> None:
        super().__init__()
        self._options = {"project": project, **options}
        self._run: Any = None

    @property
    def tracker(self) -> Any:
        """The run that is under way."""
        return self._run

    def start(self) -> None:
        self._run = init(**self._options)

    def store_init_configuration(self, values: Mapping[str, Any]) -> None:
        save_config(values)

    def log(self, values: Mapping[str, Any], step: int | None = None, **_: Any) -> None:
        log(values, step)

    def finish(self) -> None:
        finish()


_register = getattr(accelerate.tracking, "register_tracker_class", None)
if _register is not None:
    _register(StepwatchTracker)
