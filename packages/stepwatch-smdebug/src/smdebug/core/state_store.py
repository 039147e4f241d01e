"""Where a training was at its last checkpoint, so that its step numbers go on from there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypedDict

from . import environment
from .modes import ModeKeys

CONFIG_VARIABLE = "CHECKPOINT_CONFIG_FILE_PATH"
CONFIG_PATH = "/opt/ml/input/config/checkpointconfig.json"
STATES = "metadata.json"
# SageMaker marks with this what it has uploaded.
_UPLOADED = "sagemaker-uploaded"

State = TypedDict(
    "State",
    {
        "training-run": int,
        "latest-global-step-saved": int | None,
        "latest-global-step-seen": int,
        "latest-mode-step": dict[str, int],
    },
)


class StateStore:
    """Keeps the states of a training beside its checkpoints.

    Without a checkpoint configuration there is nothing to keep.
    """

    def __init__(self) -> None:
        self._folder = _checkpoint_folder()
        self._known = self._checkpoints()

    def is_checkpoint_updated(self) -> bool:
        """Return whether checkpoints were written, replaced or removed since the last call."""
        found = self._checkpoints()
        if found == self._known:
            return False
        self._known = found
        return bool(found)

    def get_last_saved_state(self) -> State | None:
        """Return the state that is furthest on, if there is one."""
        return max(self._states(), key=lambda state: state["latest-global-step-seen"], default=None)

    def update_state(self, ts_state: State) -> None:
        """Add a state to those kept."""
        if self._folder is not None:
            states = json.dumps([*self._states(), ts_state])
            # Is no checkpoint, whatever happens, and of this process alone.
            partial = self._folder / f".{STATES}.{os.getpid()}.{_UPLOADED}"
            partial.write_text(states, encoding="utf-8")
            partial.replace(self._folder / STATES)

    @property
    def is_used(self) -> bool:
        """Whether there is a checkpoint configuration."""
        return self._folder is not None

    def _checkpoints(self) -> dict[str, int]:
        """Return the sizes of the files that are checkpoints, by path."""
        found = {}
        for folder, _, files in os.walk(self._folder) if self._folder else ():
            for file in files:
                if file != STATES and _UPLOADED not in file:
                    path = os.path.join(folder, file)
                    try:
                        found[path] = os.path.getsize(path)
                    except FileNotFoundError:
                        continue  # removed meanwhile
        return found

    def _states(self) -> list[State]:
        try:
            text = (self._folder / STATES).read_text(encoding="utf-8") if self._folder else "[]"
            states = json.loads(text)
        except (FileNotFoundError, ValueError):
            return []
        return [one for one in states if _is_state(one)] if isinstance(states, list) else []


def _is_state(found: object) -> bool:
    """Return whether it is a state, and not what somebody else keeps under this name."""
    if not isinstance(found, dict):
        return False
    mode_steps = found.get("latest-mode-step")
    numbers = [found.get("latest-global-step-seen"), found.get("training-run")]
    if not isinstance(mode_steps, dict) or not mode_steps.keys() <= ModeKeys.__members__.keys():
        return False
    return all(isinstance(number, int) for number in (*numbers, *mode_steps.values()))


def _checkpoint_folder() -> Path | None:
    file = Path(environment.text(CONFIG_VARIABLE) or CONFIG_PATH)
    try:
        folder = json.loads(file.read_text(encoding="utf-8")).get("LocalPath")
    except (FileNotFoundError, NotADirectoryError, ValueError, AttributeError):
        return None
    return Path(folder) if folder else None
