"""Steps that go like those before are not taken apart; everything else still is."""

from __future__ import annotations

import copy
from contextlib import nullcontext, suppress

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stepwatch.capture.recorder import Recorder
from stepwatch.hooks.torch.usual import UsualSteps
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd


def steps_of(seen, name):
    return seen.trial.tensor(name).steps("TRAIN")


@pytest.fixture
def taken(every_fifth, monkeypatch):
    """Return how many numbers were taken of each step that went as usual."""
    found = []
    take, take_several = Recorder.take_scalars, Recorder.take_thin_steps

    def note(recorder, layout, values):
        found.append(len(values))
        take(recorder, layout, values)

    def note_several(recorder, layout, steps, spent_s):
        found.extend(len(values) for _, values in steps)
        take_several(recorder, layout, steps, spent_s)

    monkeypatch.setattr(Recorder, "take_scalars", note)
    monkeypatch.setattr(Recorder, "take_thin_steps", note_several)
    return found


def num_usual(every_fifth):
    """Of 20 steps: not of full ones, and where steps are held not of those before them."""
    apart = (0, 4) if every_fifth.holds else (0,)
    return sum(step > 1 and step % 5 not in apart for step in range(20))


def test_most_thin_steps_are(every_fifth, taken):
    with every_fifth() as seen:
        losses = fit(mlp(), steps=20)

    assert taken == [2] * num_usual(every_fifth)
    assert losses == seen.series("loss/mse_loss")


@pytest.mark.parametrize("how", ["composed", "two models", "closure"])
def test_so_are_steps_of_other_kinds(every_fifth, taken, how):
    """A loss that the script computes itself, of two models; gradients within the step."""
    with every_fifth() as seen:
        first, second = mlp(), mlp()
        models = [first, second] if how == "two models" else [first]
        optimizer = torch.optim.SGD([p for one in models for p in one.parameters()], lr=0.01)
        losses = []

        def compute():
            optimizer.zero_grad()
            outputs = [one(X) for one in models]
            if how == "closure":
                loss = nn.functional.mse_loss(outputs[0], Y)
            else:
                loss = sum((one - Y).square().mean() for one in outputs)
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(20):
            if how == "closure":
                optimizer.step(compute)
            else:
                compute()
                optimizer.step()

    assert taken == [2] * num_usual(every_fifth)
    name = "loss/mse_loss" if how == "closure" else "loss/backward"
    assert losses == pytest.approx(seen.series(name))
    assert [*range(20)] == steps_of(seen, "learning_rate/0")
    assert [0, 1, 5, 10, 15] == steps_of(seen, "gradient/0.weight")


def normalizing():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))


@pytest.mark.parametrize("evaluates", [False, True])
@pytest.mark.parametrize("made", ["first", "last"])
@pytest.mark.parametrize("copies", ["parameters", "buffers too"])
def test_a_copy_that_runs_once_at_the_end_is_observed_in_full(every_fifth, made, copies, evaluates):
    """It was put into eval mode, as an average of weights; its normalization may be a new one."""
    model = normalizing()

    def evaluate_model(_):
        model.eval()
        with torch.no_grad():
            model(X)
        model.train()

    with every_fifth() as seen:
        average = copy.deepcopy(model).eval() if made == "first" else None
        fit(model, steps=18, each=evaluate_model if evaluates else lambda _: None)
        average = average or normalizing().eval()
        with torch.no_grad():
            of_both = average.parameters(), model.parameters()
            if copies != "parameters":
                of_both = average.state_dict().values(), model.state_dict().values()
            for mine, trained in zip(*of_both, strict=True):
                mine.copy_(trained)
            average(X)

    assert 18 == seen.counts["TRAIN"]
    name = "loop/modules_unfilled"
    found = seen.series(name, mode="EVAL") if name in seen.trial.tensor_names() else []
    assert ([1.0] if copies == "parameters" else []) == found


def test_a_part_that_the_model_hides_is_no_model_though_it_was_put_into_eval_mode(
    every_fifth, taken
):
    """As a frozen encoder in a list, whose parameters are not to be those of the model."""

    class Hiding(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.head = [nn.Linear(4, 4).eval().requires_grad_(False)], mlp()

        def forward(self, x):
            return self.head(self.hidden[0](x))

    with every_fifth() as seen:
        fit(Hiding(), steps=20)

    assert {"TRAIN": 20} == {mode: count for mode, count in seen.counts.items() if count}
    assert taken == [2] * num_usual(every_fifth)


def adversaries(steps, between=lambda step, second: None):
    """Train as a generator and its discriminator are; return the three losses of each step."""
    generator, discriminator = nn.Linear(4, 4), mlp()
    first, second = sgd(discriminator, lr=0.01), sgd(generator, lr=0.02)
    all_losses = []
    for step in range(steps):
        first.zero_grad()
        made = generator(X)
        real = nn.functional.mse_loss(discriminator(X), Y)
        fake = nn.functional.mse_loss(discriminator(made.detach()), Y)
        (real + fake).backward()
        first.step()
        between(step, discriminator)
        second.zero_grad()
        loss = nn.functional.mse_loss(discriminator(made), Y)
        loss.backward()
        second.step()
        all_losses.append((real.item(), fake.item(), loss.item()))
    return all_losses


def test_so_are_steps_of_several_optimizers(every_fifth, taken):
    with every_fifth() as seen:
        losses = adversaries(20)

    assert taken == [5] * num_usual(every_fifth)
    names = ("loss/mse_loss", "loss/mse_loss_1", "loss/mse_loss_2")
    assert losses == [*zip(*map(seen.series, names), strict=True)]
    for number, rate in ((0, 0.01), (1, 0.02)):
        assert [rate] * 20 == pytest.approx(seen.series(f"learning_rate/{number}"))
    assert [0, 1, 5, 10, 15] == steps_of(seen, "gradient/Sequential.0.weight")


@pytest.mark.parametrize("what", ["evaluates", "computes another loss", "is not finite"])
def test_what_happens_between_two_optimizers_leaves_them_in_one_step(every_fifth, what):
    def between(step, discriminator):
        if step % 4 == 3 and what == "evaluates":
            discriminator.eval()
            with torch.no_grad():
                nn.functional.mse_loss(discriminator(X), Y)
            discriminator.train()
        elif step % 4 == 3 and what == "computes another loss":
            nn.functional.l1_loss(discriminator(X), Y)
        elif step == 7 and what == "is not finite":
            with torch.no_grad():
                discriminator[0].weight[0, 0] = float("nan")

    with every_fifth() as seen:
        losses = adversaries(12, between)

    assert 12 == seen.counts["TRAIN"]
    names = ("loss/mse_loss", "loss/mse_loss_1", "loss/mse_loss_2")
    for name, plain in zip(names, zip(*losses, strict=True), strict=True):
        assert list(plain) == pytest.approx(seen.series(name, mode="TRAIN"), nan_ok=True)
    for number in range(2):
        assert [*range(12)] == steps_of(seen, f"learning_rate/{number}")
    if what == "computes another loss":
        assert [3, 7, 11] == steps_of(seen, "loss/l1_loss")
    if what == "is not finite":
        assert {0, 1, 5, 8, 9, 10} <= {*steps_of(seen, "gradient/weight")}


@pytest.mark.parametrize("calls", [0, 2])
def test_a_closure_may_be_called_as_often_as_its_optimizer_wants(every_fifth, calls):
    class Picky(torch.optim.SGD):
        def step(self, closure=None):
            for _ in range(calls if self.is_picky else 1):
                closure()
            super().step()

        is_picky = False

    with every_fifth() as seen:
        model = mlp()
        optimizer = Picky(model.parameters(), lr=0.01)

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(X), Y)
            loss.backward()
            return loss

        for step in range(12):
            optimizer.is_picky = step == 8
            optimizer.step(closure)

    assert [*range(12)] == steps_of(seen, "learning_rate/0")
    stored = [step for step in range(12) if calls or step != 8]
    assert stored == steps_of(seen, "loss/mse_loss")
    assert [0, 1, 5, 10] == steps_of(seen, "gradient/0.weight")


def test_a_closure_that_raised_is_called_again(every_fifth):
    with every_fifth() as seen:
        model = mlp()
        optimizer = sgd(model)

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(X), Y)
            if len(tries) == 8:
                tries.append(1)
                raise ValueError("once more")
            loss.backward()
            return loss

        tries = []
        for _ in range(12):
            tries.append(1)
            with suppress(ValueError):
                optimizer.step(closure)

    assert {"TRAIN": 11} == seen.counts
    assert 11 == len(steps_of(seen, "loss/mse_loss"))


def test_listeners_are_given_all_steps_in_order(every_fifth):
    class Notes:
        def start(self, *_): ...
        def finish(self): ...
        def on_step(self, record):
            steps.append(record.step)

    steps = []
    with every_fifth(listeners=[Notes()]):
        fit(mlp(), steps=23)

    assert [*range(23)] == steps


def test_steps_whose_losses_have_one_name_are_in_their_order_among_others(every_fifth):
    """As those of two critics, computed in one line."""

    class Notes:
        def start(self, *_): ...
        def finish(self): ...
        def on_step(self, record):
            steps.append(record.step)

    def twice(x, y):
        calls.append(1)
        times = 2 if len(calls) % 3 == 0 else 1
        return sum(nn.functional.mse_loss(x, y) for _ in range(times)) / times

    steps, calls = [], []
    with every_fifth(listeners=[Notes()]) as seen:
        losses = fit(mlp(), steps=23, loss=twice)

    assert [*range(23)] == steps
    assert losses == pytest.approx(seen.series("loss/mse_loss"))


def test_a_step_that_computes_another_loss_as_well_has_both(every_fifth):
    def two(x, y):
        calls.append(1)
        loss = nn.functional.mse_loss(x, y)
        return loss + nn.functional.l1_loss(x, y) if len(calls) % 3 == 0 else loss

    calls = []
    with every_fifth() as seen:
        fit(mlp(), steps=13, loss=two)

    assert [*range(13)] == steps_of(seen, "loss/mse_loss")
    assert [2, 5, 8, 11] == steps_of(seen, "loss/l1_loss")


def test_each_line_keeps_its_loss_apart(every_fifth):
    """The same function is called in two lines, in one of them at each step."""

    def by_turns(x, y):
        calls.append(1)
        if len(calls) % 3:
            return nn.functional.mse_loss(x, y)
        return nn.functional.mse_loss(x, y)

    calls = []
    with every_fifth() as seen:
        losses = fit(mlp(), steps=24, loss=by_turns)

    assert [2, 5, 8, 11, 14, 17, 20, 23] == steps_of(seen, "loss/mse_loss_1")
    assert losses[2::3] == seen.series("loss/mse_loss_1")


def test_an_evaluation_in_between_is_a_step_of_its_own(every_fifth):
    with every_fifth() as seen:
        model = mlp()
        optimizer = sgd(model)
        for step in range(12):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(X), Y).backward()
            optimizer.step()
            if step % 4 == 3:
                model.eval()
                with torch.no_grad():
                    nn.functional.mse_loss(model(X), Y)
                model.train()

    assert {"TRAIN": 12, "EVAL": 3} == seen.counts
    assert [*range(12)] == steps_of(seen, "loss/mse_loss")


def actor(what):
    """Train a network that follows another one, and acts."""
    online, target = mlp(), mlp()
    models = {"within": nn.Sequential(target, nn.ReLU())}
    optimizer = sgd(online)
    for step in range(20):
        with torch.no_grad():
            for _ in range(3 if what == "acts often" else 1):
                online(X[:1])
            if what == "evaluates" and step in (7, 8, 13):
                nn.functional.mse_loss(online(X), Y)
            if what == "loader" and step in (7, 8, 13):
                for (x,) in DataLoader(TensorDataset(X), 4):
                    online(x)
        optimizer.zero_grad()
        prediction = online(X) if what == "answers first" else None
        with torch.no_grad(), suppress(RuntimeError):
            goal = target(X) if what != "within" else models["within"](X)
            if what == "raises" and step % 3 == 0:
                target(X[:, :2])
        nn.functional.mse_loss(online(X) if prediction is None else prediction, goal).backward()
        optimizer.step()


@pytest.fixture
def both_ways(every_fifth, taken, monkeypatch):
    """Return a function that trains, once more with steps taken apart, and tells of both."""

    def compare(train, *, unknown=()):
        stored, num_taken = [], []
        for is_apart in (False, True):
            if is_apart:
                monkeypatch.setattr(UsualSteps, "begin", lambda steps: None)
            torch.manual_seed(0)
            with every_fifth() as seen:
                train()
            records = [record for (record,) in seen.trial.records()]
            passed_over = {"optimizer/stale_gradients", *unknown}
            names = [{*one.layout.row_of} - passed_over for one in records]
            numbers = [(one.mode, one.step, one.mode_step, one.loss) for one in records]
            stored.append((seen.counts, numbers, names))
            num_taken.append(len(taken))
        assert num_taken[0] == num_taken[1], "with steps taken apart none is as usual"
        return stored, num_taken[0]

    return compare


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", ["plain", "acts often", "evaluates", "loader", "answers first", "within", "raises"]
)
def test_what_runs_without_gradients_counts_as_where_steps_are_taken_apart(
    every_fifth, both_ways, what
):
    (usual, apart), num_taken = both_ways(lambda: actor(what))

    assert usual == apart
    assert {"TRAIN", "EVAL"} == {*usual[0]}
    assert num_taken >= (3 if every_fifth.holds else 7)


def unevenly(what):
    """Train a critic more often than a generator."""
    generator, critic = nn.Linear(4, 4), mlp()
    first, second = sgd(critic, lr=0.01), sgd(generator, lr=0.02)
    for step in range(60):
        with torch.no_grad() if what == "without gradients" else nullcontext():
            made = generator(X).detach()
        first.zero_grad()
        loss = nn.functional.mse_loss(critic(X), Y) + critic(made).square().mean()
        if what == "computes another loss" and step % 7 == 3:
            loss = loss + nn.functional.l1_loss(critic(X), Y)
        loss.backward()
        first.step()
        if what == "evaluates" and step % 7 == 3:
            critic.eval()
            with torch.no_grad():
                nn.functional.mse_loss(critic(X), Y)
            critic.train()
        if step % 3 == 2 or (what == "irregular" and step in (12, 13, 15)):
            second.zero_grad()
            loss = 0.1 * critic(generator(X)).square().mean()
            if what == "is not finite" and step == 50:
                loss = loss * float("nan")
            loss.backward()
            second.step()


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [
        *("plain", "without gradients", "irregular", "computes another loss"),
        *("evaluates", "is not finite"),
    ],
)
def test_steps_of_optimizers_of_which_one_steps_more_often_are_usual(both_ways, what):
    """A step ends before one steps again, and what ran in between belongs to the next."""
    # The time of an evaluation is not known after steps that were passed over.
    (usual, apart), num_taken = both_ways(lambda: unevenly(what), unknown=["loop/step_seconds"])

    assert usual == apart
    assert 60 == usual[0]["TRAIN"]
    assert num_taken >= 12


@pytest.mark.parametrize("what", ["micro-batches", "one line", "one line of several optimizers"])
def test_steps_whose_losses_have_one_name_are_usual(every_fifth, both_ways, what, monkeypatch):
    """Their statistics are stored."""
    counts, take = [], Recorder.take_repeated

    def count(recorder, scalars):
        counts.append(len(scalars))
        take(recorder, scalars)

    def train():
        def losses(model):
            return (nn.functional.mse_loss(model(x), Y[:4]) for x in (X[:4], X[4:8]))

        models = [mlp(), mlp()] if what.endswith("optimizers") else [mlp()]
        optimizers = [sgd(model) for model in models]
        for _ in range(20):
            for model, optimizer in zip(models, optimizers, strict=True):
                optimizer.zero_grad()
                if what == "micro-batches":
                    for loss in losses(model):
                        loss.backward()
                else:
                    sum(losses(model)).backward()
                optimizer.step()

    monkeypatch.setattr(Recorder, "take_repeated", count)
    (usual, apart), _ = both_ways(train)

    assert usual[:2] == apart[:2]
    assert 20 == usual[0]["TRAIN"]
    expected = 6 if what.endswith("optimizers") else 3
    assert counts == [expected] * num_usual(every_fifth)


def test_micro_batches_are_one_step(every_fifth):
    with every_fifth() as seen:
        model = mlp()
        optimizer = sgd(model)
        for _ in range(12):
            optimizer.zero_grad()
            for _ in range(2):
                nn.functional.mse_loss(model(X), Y).backward()
            optimizer.step()

    assert {"TRAIN": 12} == seen.counts
    assert {2.0} == set(seen.series("loss/mse_loss", "count"))


def test_a_model_that_raised_is_observed_again(every_fifth):
    class Moody(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.num_runs = nn.Linear(4, 1), 0

        def forward(self, x):
            self.num_runs += 1
            if self.num_runs == 9:
                raise ValueError("not today")
            return self.layer(x)

    with every_fifth() as seen:
        model = Moody()
        optimizer = sgd(model)
        for _ in range(16):
            optimizer.zero_grad()
            with suppress(ValueError):
                nn.functional.mse_loss(model(X), Y).backward()
                optimizer.step()
        assert not model._forward_hooks

    assert {"TRAIN": 15} == seen.counts
    assert [0, 1, 5, 10] == steps_of(seen, "output/layer")
