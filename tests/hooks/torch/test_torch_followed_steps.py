"""Steps that the kernel follows are recorded as where it does not, whatever comes in between."""

from __future__ import annotations

import copy
import gc
import os
import threading
from contextlib import suppress
from weakref import ref

import pytest
import torch
from torch import nn

from stepwatch import _kernel
from stepwatch.capture import budget
from stepwatch.capture.recorder import Recorder
from stepwatch.hooks.torch import events
from stepwatch.numerics.statistics import MAX
from tests.support.hooks.torch.trainings import X, Y, mlp, sgd

pytestmark = pytest.mark.skipif(
    events._new_matcher() is None, reason="needs a kernel, and a PyTorch with its interface"
)
STEPS, ODD = 70, (27, 33, 34, 52)


@pytest.fixture
def every_twentieth(watched, monkeypatch):
    """Return a function that hooks torch and observes every twentieth step in full."""
    monkeypatch.setattr(budget, "FULL_STEPS", 2)
    monkeypatch.setattr(budget, "START_S", 0.0)
    monkeypatch.setattr(budget, "_MEASURED", 10**9)  # the period stays as it is

    def watch():
        # What the black box wants of a step, it says whenever that is judged.
        seen = watched(budget=0.03, hold=False, black_box_mb=0)
        seen.hook.recorder.budget.period = 20
        return seen

    return watch


@pytest.fixture
def followed(monkeypatch):
    """Return how many steps were taken together, each time that some were."""
    found, take = [], Recorder.take_thin_steps

    def note(recorder, layout, steps, spent_s):
        found.append(len(steps))
        take(recorder, layout, steps, spent_s)

    monkeypatch.setattr(Recorder, "take_thin_steps", note)
    return found


def train(seen, what):
    """Train a model; at some steps something happens that does not at the others."""
    torch.manual_seed(0)
    model = mlp()
    optimizer = sgd(model, lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=STEPS)
    for step in range(STEPS):
        is_odd = step in ODD
        if is_odd and what == "another model":
            model = copy.deepcopy(model)
            optimizer = sgd(model, lr=0.01)
        if is_odd and what == "raises":
            with suppress(RuntimeError):
                model(X[:, :2])
        inputs = X * float("nan") if is_odd and what == "loss is not finite" else X
        optimizer.zero_grad()
        if is_odd and what == "in a function":
            loss = in_a_function(model(inputs), Y)
        else:
            loss = nn.functional.mse_loss(model(inputs), Y)
        if is_odd and what == "another loss":
            loss = loss + nn.functional.l1_loss(model(X), Y)
        if what == "rises":
            loss = loss * 1.1**step
        loss.backward(retain_graph=is_odd and what == "twice")
        if is_odd and what == "twice":
            loss.backward()
        if is_odd and what == "gradient is not finite":
            model[0].weight.grad[0, 0] = float("inf")
            model[0].bias.grad[0] = float("inf")
        if not (is_odd and what == "no update"):
            optimizer.step()
        if is_odd and what == "gradient is not finite":
            model = mlp()
            optimizer = sgd(model, lr=0.01)
        if what == "schedule":
            schedule.step()
        if is_odd and what == "rate is a tensor":
            optimizer.param_groups[0]["lr"] = torch.tensor(0.01)
        if is_odd and what == "saves":
            seen.hook.save_scalar("mine", step)
        if is_odd and what == "evaluates":
            model.eval()
            with torch.no_grad():
                nn.functional.mse_loss(model(X), Y)
            model.train()
        if is_odd and what == "elsewhere":
            thread = threading.Thread(target=model, args=(X,))
            thread.start()
            thread.join()


def in_a_function(prediction, target):
    return nn.functional.mse_loss(prediction, target)


def adversaries(seen, what):
    torch.manual_seed(0)
    generator, discriminator = nn.Linear(4, 4), mlp()
    first, second = sgd(discriminator, lr=0.01), sgd(generator, lr=0.02)
    for step in range(STEPS):
        made = generator(X)
        first.zero_grad()
        real = nn.functional.mse_loss(discriminator(X), Y)
        fake = nn.functional.mse_loss(discriminator(made.detach()), Y)
        (real + fake).backward()
        first.step()
        if step in ODD and what == "evaluates between":
            with torch.no_grad():
                discriminator(X)
        second.zero_grad()
        nn.functional.mse_loss(discriminator(made), Y).backward()
        second.step()


def recorded(seen):
    """Return what is stored of each step, without times."""
    found = []
    for (record,) in seen.trial.records():
        names = {*record.layout.row_of} - {"loop/step_seconds"}
        kept = [info.name for info in record.layout.tensors if info.collection in budget.KEPT]
        # As texts: nan is not equal to itself.
        values = {name: str(record.statistics[record.layout.row_of[name], MAX]) for name in kept}
        found.append((str(record.mode), record.step, record.mode_step, values, sorted(names)))
    return found


ORDINARY = ["plain", "schedule", "rises", "elsewhere"]
DIFFERENT = [
    *("another model", "raises", "loss is not finite", "in a function", "another loss", "twice"),
    *("gradient is not finite", "no update", "rate is a tensor", "saves", "evaluates"),
]
IN_PARTS = ["two optimizers", "evaluates between"]


@pytest.mark.parametrize("what", ORDINARY + DIFFERENT + IN_PARTS)
def test_steps_are_recorded_as_where_none_is_followed(every_twentieth, followed, monkeypatch, what):
    run = adversaries if what in IN_PARTS else train
    with every_twentieth() as seen:
        run(seen, what)
    with_kernel, num_followed = recorded(seen), sum(followed)
    monkeypatch.setattr(events, "_new_matcher", lambda: None)
    with every_twentieth() as seen:
        run(seen, what)

    assert recorded(seen) == with_kernel
    assert num_followed == sum(followed)
    assert num_followed >= (40 if what in ORDINARY else 10)


def test_models_and_optimizers_that_are_followed_are_not_kept_alive(every_twentieth, followed):
    with every_twentieth():
        model = mlp()
        optimizer = sgd(model, lr=0.01)
        for _ in range(15):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(X), Y).backward()
            optimizer.step()
        known = ref(model), ref(optimizer)
        del model, optimizer
        gc.collect()

        assert sum(followed) >= 6
        assert [None, None] == [one() for one in known]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_in_a_fork_nothing_is_followed(every_twentieth, followed):
    with every_twentieth() as seen:
        model = mlp()
        optimizer = sgd(model, lr=0.01)
        for step in range(30):
            if step == 15 and not (child := os.fork()):
                losses = [nn.functional.mse_loss(model(X), Y).item() for _ in range(3)]
                os._exit(len(losses) - 3)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(X), Y).backward()
            optimizer.step()
        assert 0 == os.waitpid(child, 0)[1]

    assert {"TRAIN": 30} == seen.counts
    assert sum(followed) >= 20


class TestMatcher:
    def test_it_needs_events_that_bring_numbers(self):
        matcher = events._new_matcher()
        with pytest.raises(ValueError, match="nothing to follow"):
            matcher.follow(1, 0.0, 1.0, 0.1, 1.0, ())
        with pytest.raises(ValueError, match="at least one event"):
            matcher.learn(None, ())
        with pytest.raises(ValueError, match="no such event"):
            matcher.learn(None, ((7, None, "", None, 0, 0, -1, -1),))
        with pytest.raises(TypeError):
            matcher.learn(None, ((0,),))

    def test_an_event_that_nobody_takes_in_such_steps_is_passed_over_only_there(self):
        matcher, calls = events._new_matcher(), []
        source = _kernel.EventSource(
            events.EventKind.OTHER, [], lambda *_: calls.append(1), matcher
        )
        source("what", 1)

        assert [1] == calls
        with pytest.raises(TypeError):
            _kernel.EventSource(0, [], print, object())
