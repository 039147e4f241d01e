"""Training survives us, to the last bit: a watched run is the run that it would have been."""

from __future__ import annotations

import importlib.util
import random
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch import LiveWatch, TorchHook
from stepwatch.rules import DEFAULT_RULES

DEMO = Path(__file__).parents[1] / "demo"


def load(name):
    """Return a demo script as a module, without running it."""
    spec = importlib.util.spec_from_file_location(f"demo_{name}", DEMO / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def digits(losses):
    """Train the network of ``digits_cnn`` with dropout, and validate it."""
    demo = load("digits_cnn")
    train, validation = demo.load_data(96, 0)
    model, criterion = demo.DigitsCNN(dropout=0.3), nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(3):
        losses.append(demo.train_epoch(model, train, criterion, optimizer))
        losses.extend(demo.validate(model, validation, criterion))
    return model


def characters(losses):
    """Train the small GPT of ``char_gpt`` with dropout, and validate it."""
    demo = load("char_gpt")
    tokens, validation = demo.load_text(20_000)
    arguments = Namespace(
        steps=12, batch=4, block=16, lr=4e-3, eval_every=5, eval_batches=2, seed=0, fault="none"
    )
    model = demo.GPT(block=16, d_model=32, layers=2, dropout=0.1)
    item = torch.Tensor.item

    def note(tensor):
        losses.append(item(tensor))
        return losses[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "item", note)  # the script asks for every loss this way
        demo.train(model, tokens, validation, arguments)
    return model


def outcome(program):
    """Return every loss, every final parameter and where each random generator stands."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    losses = []
    model = program(losses)
    parameters = {name: value.numpy().tobytes() for name, value in model.state_dict().items()}
    where = random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state().tolist()
    return losses, parameters, where


@pytest.mark.slow
@pytest.mark.parametrize("program", [digits, characters])
@pytest.mark.parametrize("policy", [None, ["weights:raw:every=3", "gradients:raw:every=4"]])
def test_a_watched_run_is_the_run_it_would_have_been(program, policy, tmp_path, capfd):
    """Every loss, every parameter, and all three random generators are bitwise equal."""
    outcome(program)  # what is imported on the way may draw random numbers, once
    capfd.readouterr()
    expected = outcome(program)
    told = capfd.readouterr().out
    live = LiveWatch(DEFAULT_RULES)
    with TorchHook(run=tmp_path / "run", policy=policy, listeners=[live], strict=True) as hook:
        found = outcome(program)

    assert told == capfd.readouterr().out
    assert len(expected[0]) >= 9
    assert hook.recorder.num_steps >= 12
    for one, other in zip(expected, found, strict=True):
        assert one == other
