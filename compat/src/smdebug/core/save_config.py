"""When to save, for each mode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from smdebug.core.modes import ModeKeys, from_mode, to_mode
from smdebug.core.save_config_mode import SaveConfigMode
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from stepwatch.hook_config import SaveSteps
from stepwatch.steps import Mode

__all__ = ["SaveConfig", "SaveConfigMode"]


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


class SaveConfig:
    """When to save, for each mode.

    A mode without a configuration has the hook's.

    Args:
        mode_save_configs: Configuration of some modes; the arguments below then count for none.
        save_interval: Of every mode: save each so-manieth step.
        start_step: Of every mode: the first step that may be saved.
        end_step: Of every mode: the first step that may no longer be saved.
        save_steps: Of every mode: steps to save besides.

    Raises:
        SMDebugValueError: A value that cannot be meant.
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
        """Return one of which every mode has the hook's configuration."""
        return cls({})

    @property
    def says_nothing(self) -> bool:
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
        """Return the same in Stepwatch's words.

        Args:
            inherited: What modes have that have none.
        """
        merged = deepcopy(self)
        merged.merge_default_save_config(type(self).from_steps(inherited))
        return {to_mode(mode): merged.get_save_config(mode).to_steps() for mode in ModeKeys}

    @classmethod
    def from_steps(cls, steps: Mapping[Mode, SaveSteps]) -> SaveConfig:
        """Return the same in smdebug's words."""
        return cls({from_mode(mode): SaveConfigMode.from_steps(one) for mode, one in steps.items()})

    def to_json_dict(self) -> dict[str, Any]:
        """Return what a collections file holds."""
        return {
            mode.name: None if config is None else config.to_json_dict()
            for mode, config in self.mode_save_configs.items()
        }

    def to_json(self) -> str:
        """Return the same as text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(
        cls,
        params: Mapping[Any, Any] | None,
        default_values: Mapping[str, Any] | None = None,
    ) -> SaveConfig | None:
        """Return what a mapping says, from modes or their names to their settings.

        Args:
            params: It; ``None`` gives ``None``.
            default_values: Settings of which it says nothing.
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
    def from_json(cls, json_str: str) -> SaveConfig | None:
        """Return what ``to_json`` made."""
        return cls.from_dict(json.loads(json_str))

    @classmethod
    def from_save_config_mode(cls, save_config_mode: SaveConfigMode) -> SaveConfig:
        """Return one with this configuration for every mode."""
        return cls({mode: deepcopy(save_config_mode) for mode in ModeKeys})

    @classmethod
    def parse(cls, obj: object) -> SaveConfig:
        """Return what was given as a save configuration, in any of its forms.

        Raises:
            SMDebugTypeError: It is none.
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
        mine, theirs = (self.mode_save_configs, self._left), (other.mode_save_configs, other._left)
        return mine == theirs

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __repr__(self) -> str:
        return f"<class SaveConfig: {self.mode_save_configs}>"

    @property
    def _left(self) -> dict[str, object]:
        """What still waits for modes that have no configuration."""
        return self.pending if None in self.mode_save_configs.values() else {}
