"""When to save, in one mode and for each mode."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from stepwatch.errors import ConfigError
from stepwatch.formats.smdebug.collections import SaveSteps
from stepwatch.model.steps import Mode

from ..exceptions import SMDebugTypeError, SMDebugValueError
from .json_config import JsonSettings
from .modes import ModeKeys, from_mode, to_mode

__all__ = ["SaveConfig", "SaveConfigMode"]

SETTINGS = ("save_interval", "save_steps", "start_step", "end_step")


@dataclass(repr=False)
class SaveConfigMode:
    """When to save in one mode: the steps of a rhythm within a window, and some by number.

    Args:
        save_interval: Every how many steps, counted from step 0; 500 by default.
        start_step: First step of the window; 0 by default.
        end_step: First step after the window; ``None`` for no end.
        save_steps: Further steps, inside of the window or not.

    Raises:
        SMDebugValueError: An invalid value.

    Example:
        >>> config = SaveConfigMode(save_interval=3, start_step=4, end_step=10, save_steps=[1, 12])
        >>> [step for step in range(20) if config.should_save_step(step)]
        [1, 6, 9, 12]
    """

    save_interval: Any = None
    start_step: Any = None
    end_step: Any = None
    save_steps: Any = None

    def __post_init__(self) -> None:
        for name, default in (("save_interval", 500), ("start_step", 0), ("end_step", None)):
            value = getattr(self, name)
            setattr(self, name, default if value is None else _integer(name, value))
        if self.save_steps is None:
            self.save_steps = []
        self.to_steps()

    def should_save_step(self, step_num: int) -> bool:
        """Return whether this step is saved."""
        return self.to_steps().wants(step_num)

    def to_steps(self) -> SaveSteps:
        """Return the chosen steps.

        Raises:
            SMDebugValueError: It was changed to an invalid value.
        """
        if not isinstance(self.save_steps, list | tuple):
            raise SMDebugValueError(f"save_steps must be a list of int, got {self.save_steps!r}")
        try:
            return SaveSteps(
                _integer("save_interval", self.save_interval),
                _integer("start_step", self.start_step),
                None if self.end_step is None else _integer("end_step", self.end_step),
                tuple(_step(step) for step in self.save_steps),
            )
        except ConfigError as error:
            raise SMDebugValueError(str(error)) from None

    @classmethod
    def from_steps(cls, steps: SaveSteps) -> SaveConfigMode:
        return cls(steps.interval, steps.start, steps.end, list(steps.steps))

    def to_json_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SETTINGS}

    @classmethod
    def from_dict(
        cls, params: Mapping[str, Any] | None, default_values: Mapping[str, Any] | None = None
    ) -> SaveConfigMode | None:
        """Return the configuration that a mapping of settings describes; ``None`` for ``None``.

        Args:
            params: The settings.
            default_values: Those that it leaves out.

        Raises:
            SMDebugTypeError: It is no mapping.
        """
        if params is None:
            return None
        for one in (params, default_values):
            if not isinstance(one, Mapping | None):
                raise SMDebugTypeError(f"settings are a dict, got {one!r}")
        given = {**(default_values or {}), **params}
        return cls(**{name: given[name] for name in SETTINGS if name in given})

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.to_json_dict().items())
        return f"<class SaveConfigMode: {settings}>"


def _integer(name: str, value: object) -> int:
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


class _OfAllModes:
    """A setting of all modes at once: ``save_config.end_step = 0``."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, config: SaveConfig, owner: type) -> Any:
        if config is None:
            return self
        there = [one for one in config.mode_save_configs.values() if one is not None]
        values = [getattr(one, self._name) for one in there]
        if len(there) < len(ModeKeys):
            values.append(config.pending.get(self._name))
        if any(value != values[0] for value in values):
            raise SMDebugValueError(
                f"{self._name} differs between the modes; ask get_save_config(mode) for one"
            )
        return values[0]

    def __set__(self, config: SaveConfig, value: object) -> None:
        for one in config.mode_save_configs.values():
            if one is not None:
                setattr(one, self._name, value)
        # What a mode inherits comes later, and this counts more.
        config.pending[self._name] = value


class SaveConfig(JsonSettings):
    """When to save, for each mode.

    A mode without a configuration has the hook's.

    Args:
        mode_save_configs: Configuration of some modes; the arguments below then count for none.
        save_interval: Every how many steps to save, in every mode.
        start_step: The first step that may be saved, in every mode.
        end_step: The first step that may no longer be saved, in every mode.
        save_steps: Further steps to save, in every mode.

    Raises:
        SMDebugValueError: An invalid value.
    """

    save_interval = _OfAllModes()
    start_step = _OfAllModes()
    end_step = _OfAllModes()
    save_steps = _OfAllModes()

    def __init__(
        self,
        mode_save_configs: Mapping[ModeKeys, SaveConfigMode | None] | None = None,
        save_interval: int | str | None = None,
        start_step: int | str | None = None,
        end_step: int | str | None = None,
        save_steps: list[int] | None = None,
    ) -> None:
        self.pending: dict[str, object] = {}
        self.mode_save_configs: dict[ModeKeys, SaveConfigMode | None]
        if mode_save_configs is None:
            self.mode_save_configs = {
                mode: SaveConfigMode(save_interval, start_step, end_step, save_steps)
                for mode in ModeKeys
            }
            return
        for mode, config in mode_save_configs.items():
            if not isinstance(mode, ModeKeys) or not isinstance(config, SaveConfigMode | None):
                raise SMDebugValueError(
                    f"mode_save_configs maps modes to SaveConfigMode, got {mode!r}: {config!r}"
                )
        self.mode_save_configs = {mode: mode_save_configs.get(mode) for mode in ModeKeys}

    @classmethod
    def inheriting(cls) -> SaveConfig:
        """Return one in which every mode inherits the hook's configuration."""
        return cls({})

    @property
    def is_unset(self) -> bool:
        """Whether every mode has the hook's configuration, unchanged."""
        return not self.pending and not any(self.mode_save_configs.values())

    def get_save_config(self, mode: ModeKeys) -> SaveConfigMode:
        """Return the configuration of a mode.

        Raises:
            SMDebugValueError: It has the hook's, which is not known here.
        """
        config = self.mode_save_configs[mode]
        if config is None:
            raise SMDebugValueError(
                f"mode {mode.name} has the hook's save configuration; give it its own with "
                "set_save_config"
            )
        return config

    def set_save_config(self, mode: ModeKeys, save_config_mode: SaveConfigMode) -> None:
        """Give a mode its configuration."""
        if not isinstance(save_config_mode, SaveConfigMode):
            raise SMDebugValueError(f"a mode has a SaveConfigMode, got {save_config_mode!r}")
        self.mode_save_configs[mode] = save_config_mode

    def should_save_step(self, mode: ModeKeys, step_num: int) -> bool:
        """Return whether this step of a mode is saved."""
        return self.get_save_config(mode).should_save_step(step_num)

    def merge_default_save_config(self, default_save_config: SaveConfig) -> None:
        """Give each mode that has none a copy of the other's configuration."""
        for mode, config in self.mode_save_configs.items():
            if config is not None:
                continue
            copied = deepcopy(default_save_config.mode_save_configs[mode]) or SaveConfigMode()
            for name, value in self.pending.items():
                setattr(copied, name, value)
            self.mode_save_configs[mode] = copied

    def to_steps(self, inherited: Mapping[Mode, SaveSteps]) -> dict[Mode, SaveSteps]:
        """Return the chosen steps of each mode; a mode without a configuration inherits."""
        merged = deepcopy(self)
        merged.merge_default_save_config(type(self).from_steps(inherited))
        return {to_mode(mode): merged.get_save_config(mode).to_steps() for mode in ModeKeys}

    @classmethod
    def from_steps(cls, steps: Mapping[Mode, SaveSteps]) -> SaveConfig:
        return cls({from_mode(mode): SaveConfigMode.from_steps(one) for mode, one in steps.items()})

    def to_json_dict(self) -> dict[str, Any]:
        return {
            mode.name: None if config is None else config.to_json_dict()
            for mode, config in self.mode_save_configs.items()
        }

    @classmethod
    def from_dict(
        cls,
        params: Mapping[Any, Any] | None,
        default_values: Mapping[str, Any] | None = None,
    ) -> SaveConfig | None:
        """Return the configuration that a mapping describes; ``None`` for ``None``.

        Args:
            params: From modes or their names to their settings.
            default_values: Settings that it leaves out.
        """
        if params is None:
            return None
        return cls(
            {
                ModeKeys[mode] if isinstance(mode, str) else mode: config
                if isinstance(config, SaveConfigMode)
                else SaveConfigMode.from_dict(config, default_values)
                for mode, config in params.items()
            }
        )

    @classmethod
    def from_save_config_mode(cls, save_config_mode: SaveConfigMode) -> SaveConfig:
        """Return one with this configuration for every mode."""
        return cls({mode: deepcopy(save_config_mode) for mode in ModeKeys})

    @classmethod
    def parse(cls, obj: object) -> SaveConfig:
        """Return what was given as a save configuration, in any of its forms.

        Raises:
            SMDebugTypeError: It has none of them.
        """
        if obj is None:
            return cls()
        if isinstance(obj, SaveConfig):
            return obj
        if isinstance(obj, SaveConfigMode):
            return cls.from_save_config_mode(obj)
        if isinstance(obj, Mapping):
            return cls.from_dict(obj) or cls()
        raise SMDebugTypeError(
            f"save_config is a SaveConfig, a SaveConfigMode or a dict of modes, got {obj!r}"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SaveConfig):
            return NotImplemented
        return (self.mode_save_configs, self._left) == (other.mode_save_configs, other._left)

    def __repr__(self) -> str:
        return f"<class SaveConfig: {self.mode_save_configs}>"

    @property
    def _left(self) -> dict[str, object]:
        """The settings that are pending for modes without a configuration."""
        return self.pending if None in self.mode_save_configs.values() else {}
