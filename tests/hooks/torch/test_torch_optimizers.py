"""Every optimizer that lives, in an order that is the same whenever a script is run."""

from __future__ import annotations

import gc

import pytest
import torch

from stepwatch.hooks.torch import models
from stepwatch.hooks.torch.models import Optimizers


def test_the_order_is_that_of_the_first_steps(monkeypatch):
    """In whatever order the garbage collector finds them; who never stepped comes last."""
    made = [torch.optim.SGD([torch.ones(1)], lr=0.1) for _ in range(4)]
    for found in (made, made[::-1]):
        with monkeypatch.context() as patched:
            patched.setattr(gc, "get_objects", lambda found=found: found)
            optimizers = Optimizers()
            for which in (2, 0, 2, 3):
                optimizers.steps(made[which])

        assert [made[which] for which in (2, 0, 3)] == optimizers.stepped
        assert [made[which] for which in (2, 0, 3, 1)] == list(optimizers)
        assert [0, 1, 2] == [
            number for which in (2, 0, 3) for number, _ in optimizers.numbered_groups(made[which])
        ]


def test_a_number_stays_when_another_steps_for_the_first_time(monkeypatch):
    """Though the other was met before it."""
    made = [torch.optim.SGD([torch.ones(1)], lr=0.1) for _ in range(2)]
    monkeypatch.setattr(gc, "get_objects", lambda: made)
    optimizers = Optimizers()
    numbers = []
    for which in (1, 0, 1):
        optimizers.steps(made[which])
        numbers += [number for number, _ in optimizers.numbered_groups(made[which])]

    assert [0, 1, 0] == numbers


def test_those_that_are_made_meanwhile_are_known_without_a_scan(monkeypatch):
    """All objects are scanned at most once: that takes a tenth of a second."""
    scans = []
    monkeypatch.setattr(gc, "get_objects", lambda: scans.append(1) or [])
    optimizers = Optimizers()
    for _ in range(3):
        made = torch.optim.SGD([torch.ones(1)], lr=0.1)
        optimizers.made(made)
        optimizers.steps(made)
        assert made in list(optimizers)

    assert 1 == len(scans)


def test_nothing_is_scanned_where_none_was_ever_made(monkeypatch):
    """As under ``stepwatch run``, where the hook is there before the script makes one."""
    monkeypatch.setattr(models, "may_have_optimizers", lambda: False)
    monkeypatch.setattr(gc, "get_objects", lambda: pytest.fail("scanned"))
    optimizers = Optimizers()
    optimizers.may_miss()
    optimizers.scan()

    assert [] == list(optimizers)


def test_no_module_is_looked_for_that_holds_plain_tensors(monkeypatch):
    """As of a script that writes out its model, and makes an optimizer for each fit."""
    names = models.Names()
    parameters = [torch.ones(1, requires_grad=True)]
    monkeypatch.setattr(gc, "get_objects", lambda: pytest.fail("scanned"))

    names.add_owners(parameters)

    assert not names.roots
