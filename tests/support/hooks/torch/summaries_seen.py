"""Summaries as tests want to see them."""

from __future__ import annotations

import numpy as np
import torch

from stepwatch.hooks.torch import observe


def value(seen, name, step=0):
    """Return the full value of a tensor at a step."""
    return np.asarray(seen.trial.tensor(name).value(step))


def names(seen, collection):
    """Return the names of a collection, of all steps."""
    return seen.trial.tensor_names(collection=collection)


def train(model, x, *, steps=1, run=None, made=lambda p: torch.optim.SGD(p, 0.1), losses=None):
    """Train a model to give zeros, and return the losses, also while it runs."""
    optimizer = made(model.parameters())
    losses = [] if losses is None else losses
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model if run is None else run)(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def as_on_an_accelerator(monkeypatch):
    """Let the CPU play an accelerator: nothing of it can be read before the step ends."""
    for module in (observe, observe, observe):
        monkeypatch.setattr(module, "on_host", lambda _: False)
