"""Registered hooks, and what they saved."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
import torch

from stepwatch.formats.smdebug.collections import SavedCollection, SaveSteps, Stored
from stepwatch.formats.smdebug.index import SavedStep
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.model.steps import Mode
from stepwatch.store import open_store
from stepwatch_smdebug.hooks.torch import SmdebugTorchHook
from stepwatch_smdebug.plan import HookConfig

WORKER = "worker_0"


def steps_of(**options) -> dict[Mode, SaveSteps]:
    """Return the same steps for every mode."""
    return dict.fromkeys(Mode, SaveSteps(**options))


def config_of(run, *collections: SavedCollection, interval=1, stored=None, **options) -> HookConfig:
    """Return a configuration that saves these collections; everything without one."""
    known = collections or (SavedCollection("all", (".*",)),)
    told = {"steps": steps_of(interval=interval), "stored": stored or Stored(raw=True)}
    settled = tuple(
        SavedCollection(one.name, one.patterns, one.tensors, told["steps"], told["stored"])
        for one in known
    )
    names = frozenset(one.name for one in known)
    return HookConfig(str(run), settled, names, **told, **options)


class Registered:
    """A hook, and what it saved once it is closed."""

    def __init__(self, run, *collections, config=None, hook=None, **options) -> None:
        self.run = str(run)
        config = config or config_of(run, *collections, **options)
        self.hook = SmdebugTorchHook(config, **{"strict": True, **(hook or {})})
        self._reader: SmdebugReader | None = None

    @property
    def reader(self) -> SmdebugReader:
        """What can be read; closes the hook."""
        if self._reader is None:
            self.hook.close()
            self._reader = SmdebugReader(open_store(self.run))
            self._reader.refresh()
        return self._reader

    def steps(self) -> list[tuple[int, Mode, int]]:
        """Return the global step, the mode and the step within it of what was saved."""
        found = (self.reader.saved(WORKER, step) for step in range(50))
        return [(one.step, one.mode, one.mode_step) for one in found if one is not None]

    def saved(self, step: int) -> SavedStep | None:
        """Return what was saved at a step."""
        return self.reader.saved(WORKER, step)

    def names(self, step: int) -> list[str]:
        """Return the names of the values of a step, in order."""
        saved = self.saved(step)
        return [] if saved is None else list(saved.contents.byte_ranges)

    def value(self, step: int, name: str) -> np.ndarray:
        """Return a value."""
        return self.reader.value(WORKER, step, name)


@pytest.fixture
def registered(tmp_path):
    """Return a function that makes hooks; each call writes a run of its own."""
    numbers = count()
    made: list[Registered] = []

    def make(*collections, **options) -> Registered:
        made.append(Registered(tmp_path / f"run{next(numbers)}", *collections, **options))
        return made[-1]

    yield make
    for one in made:
        one.hook.close()


class Net(torch.nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.act = torch.nn.ReLU()

    def forward(self, x):
        return self.act(self.fc(x))


def a_net() -> Net:
    """Return the same net every time."""
    torch.manual_seed(0)
    return Net()


def batch() -> torch.Tensor:
    """Return the same batch every time."""
    return torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
