"""Real trainings, alike but for one thing."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from stepwatch import TorchHook

STEPS = 45


def train(
    run,
    *,
    seed=0,
    data_seed=0,
    dropout_seed=0,
    steps=STEPS,
    rate_from_40=0.01,
    flip_at=None,
    noise=0.0,
    **hook,
):
    """Train a small model and record it.

    Args:
        run: Where.
        seed: Of the weights.
        data_seed: Of the order of the samples.
        dropout_seed: Of dropout.
        steps: How many.
        rate_from_40: The learning rate from step 40 on.
        flip_at: Flips a bit of a weight before this step.
        noise: By so much, as a fraction, weights are moved after each step, each time otherwise.
        hook: For ``TorchHook``.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 1))
    order, moves = (torch.Generator().manual_seed(other) for other in (data_seed, int(noise * 1e9)))
    inputs = torch.randn(256, 8, generator=torch.Generator().manual_seed(1))
    targets = inputs.sum(dim=1, keepdim=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(dropout_seed)
    with TorchHook(model, run=run, say=_silent, black_box_mb=0, **hook):
        for step in range(steps):
            if step == 40:
                optimizer.param_groups[0]["lr"] = rate_from_40
            if step == flip_at:
                with torch.no_grad():
                    model[3].weight.view(torch.int32)[0, 3] ^= 1 << 14
            batch = torch.randint(256, (16,), generator=order)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs[batch]), targets[batch]).backward()
            optimizer.step()
            if noise:
                with torch.no_grad():
                    for weight in model.parameters():
                        weight += weight * noise * torch.randn(weight.shape, generator=moves)


def _silent(line):
    """Say nothing: what is printed is looked at."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a function that trains, once for each set of arguments, and returns the run."""
    folder, runs = tmp_path_factory.mktemp("trained"), {}

    def run(again=0, **how):
        key = (again, *sorted(how.items()))
        if key not in runs:
            runs[key] = folder / str(len(runs))
            train(runs[key], **how)
        return runs[key]

    return run
