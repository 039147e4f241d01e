"""When to save in one mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from stepwatch.errors import ConfigError
from stepwatch.hook_config import SaveSteps

SETTINGS = ("save_interval", "save_steps", "start_step", "end_step")


class SaveConfigMode:
    """When to save in one mode: the steps of a rhythm within a window, and some by number.

    Args:
        save_interval: Each so-manieth step, counted from step 0; 500 by default.
        start_step: First step of the window; 0 by default.
        end_step: First step after the window; ``None`` for no end.
        save_steps: Further steps, inside of the window or not.

    Raises:
        SMDebugValueError: A value that cannot be meant.

    Example:
        >>> config = SaveConfigMode(save_interval=3, start_step=4, end_step=10, save_steps=[1, 12])
        >>> [step for step in range(20) if config.should_save_step(step)]
        [1, 6, 9, 12]
    """

    def __init__(
        self,
        save_interval: int | str | None = None,
        start_step: int | str | None = None,
        end_step: int | str | None = None,
        save_steps: list[int] | None = None,
    ) -> None:
        self.save_interval = (
            500 if save_interval is None else _whole("save_interval", save_interval)
        )
        self.save_steps = [] if save_steps is None else save_steps
        self.start_step = 0 if start_step is None else _whole("start_step", start_step)
        self.end_step = None if end_step is None else _whole("end_step", end_step)
        self.to_steps()

    def should_save_step(self, step_num: int) -> bool:
        """Return whether this step is saved."""
        return self.to_steps().wants(step_num)

    def to_steps(self) -> SaveSteps:
        """Return the same in Stepwatch's words.

        Raises:
            SMDebugValueError: A value that cannot be meant.
        """
        if not isinstance(self.save_steps, list | tuple):
            raise SMDebugValueError(f"save_steps must be a list of int, got {self.save_steps!r}")
        try:
            return SaveSteps(
                _whole("save_interval", self.save_interval),
                _whole("start_step", self.start_step),
                None if self.end_step is None else _whole("end_step", self.end_step),
                tuple(_step(step) for step in self.save_steps),
            )
        except ConfigError as error:
            raise SMDebugValueError(str(error)) from None

    @classmethod
    def from_steps(cls, steps: SaveSteps) -> SaveConfigMode:
        """Return the same in smdebug's words."""
        return cls(steps.interval, steps.start, steps.end, list(steps.steps))

    def to_json_dict(self) -> dict[str, Any]:
        """Return what a collections file holds."""
        return {name: getattr(self, name) for name in SETTINGS}

    @classmethod
    def from_dict(
        cls, params: Mapping[str, Any] | None, default_values: Mapping[str, Any] | None = None
    ) -> SaveConfigMode | None:
        """Return what a mapping of settings says.

        Args:
            params: It; ``None`` gives ``None``.
            default_values: Settings of which it says nothing.

        Raises:
            SMDebugTypeError: It is no mapping.
        """
        if params is None:
            return None
        for given in (params, default_values):
            if not isinstance(given, Mapping | None):
                raise SMDebugTypeError(f"settings are a dict, got {given!r}")
        said = {**(default_values or {}), **params}
        return cls(**{name: said[name] for name in SETTINGS if name in said})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaveConfigMode):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.to_json_dict().items())
        return f"<class SaveConfigMode: {settings}>"


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise SMDebugValueError(f"{name} must be an int, got {value!r}")
    try:
        return int(value)
    except ValueError:
        raise SMDebugValueError(f"{name} must be an int, got {value!r}") from None


def _step(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SMDebugValueError(f"save_steps must be a list of int, and holds {value!r}")
    return value
