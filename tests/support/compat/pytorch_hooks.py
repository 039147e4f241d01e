"""Hooks of smdebug for PyTorch, and what they saved."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import smdebug.pytorch as smd
from stepwatch.formats.smdebug.reader import SmdebugReader
from stepwatch.store import open_store

EVERY_STEP = smd.SaveConfig(save_interval=1)
WORKER = "worker_0"


@pytest.fixture(autouse=True)
def no_hook_left():
    """A hook is the one of its process until it is let go."""
    smd.del_hook()
    yield
    hook = smd.get_hook()
    if hook is not None:
        hook.close()
    smd.del_hook()


@pytest.fixture
def out(tmp_path) -> str:
    """A place for a run."""
    return str(tmp_path / "run")


def a_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.ReLU())


def train(net, steps=1, loss=None) -> None:
    """Train for some steps."""
    for _ in range(steps):
        out = net(torch.ones(4, 3))
        (out.sum() if loss is None else loss(out, torch.zeros(4, 2))).backward()


def closed(hook) -> SmdebugReader:
    """Close a hook and return what can be read."""
    hook.close()
    reader = SmdebugReader(open_store(hook.out_dir))
    reader.refresh()
    return reader


def names(reader, step: int) -> list[str]:
    saved = reader.saved(WORKER, step)
    return [] if saved is None else list(saved.contents.byte_ranges)
