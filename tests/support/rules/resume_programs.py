"""Trainings that load a checkpoint and do not go on from it, and the same done right."""

from __future__ import annotations

import copy
import io
from functools import partial

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, SequentialLR

from tests.support.rules.scenarios import Scenario


class Net(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
        self.head = nn.Linear(24, num_classes)

    def forward(self, x):
        return self.head(self.body(x))


class Tied(nn.Module):
    """Its head is its embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 8)
        self.hidden = nn.Linear(8, 8)
        self.head = nn.Linear(8, 9, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(torch.tanh(self.hidden(self.embedding(ids))))


def adam(model, rate=0.01):
    return torch.optim.Adam(model.parameters(), lr=rate)


def train(model, optimizer, schedule=None, steps=8, num_classes=5):
    for _ in range(steps):
        x = torch.randint(0, 9, (16,)) if isinstance(model, Tied) else torch.randn(16, 12)
        targets = torch.randint(0, num_classes, (16,))
        optimizer.zero_grad()
        cross_entropy(model(x), targets).backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()


def reloaded(what):
    """Return what ``torch.load`` makes of a file that holds it."""
    file = io.BytesIO()
    torch.save(what, file)
    file.seek(0)
    return torch.load(file)


def checkpoint(model=None, *, cosine=True, steps=30):
    """Return what a training before this one has left."""
    torch.manual_seed(1)
    model = model or Net()
    optimizer = adam(model)
    schedule = CosineAnnealingLR(optimizer, 100) if cosine else None
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    for _ in range(steps):
        optimizer.step()
        if schedule is not None:
            schedule.step()
    found = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": steps}
    return reloaded({**found, "schedule": schedule.state_dict()} if cosine else found)


def goes_on(optimizer_too=True, schedule_too=True):
    kept = checkpoint()
    model = Net()
    model.load_state_dict(kept["model"])
    optimizer = adam(model)
    schedule = CosineAnnealingLR(optimizer, 100)
    if optimizer_too:
        optimizer.load_state_dict(kept["optimizer"])
    if schedule_too:
        schedule.load_state_dict(kept["schedule"])
    train(model, optimizer, schedule)


def other_names(prefix):
    kept = {f"{prefix}{name}": value for name, value in checkpoint()["model"].items()}
    model = Net()
    model.load_state_dict(kept, strict=False)
    train(model, adam(model))


def new_head():
    kept = {name: one for name, one in checkpoint()["model"].items() if "head" not in name}
    model = Net(num_classes=7)
    model.load_state_dict(kept, strict=False)
    train(model, adam(model, 0.001), num_classes=7)


def assigned(before):
    kept, model = checkpoint()["model"], Net()
    optimizer = adam(model)
    model.load_state_dict(kept, assign=True)
    if not before:
        optimizer = adam(model)
    train(model, optimizer)


def made_twice(*, twice):
    kept, model = checkpoint()["model"], Net()
    model.load_state_dict(kept)
    if twice:
        model = Net()
    train(model, adam(model))


def teacher():
    """A student of the same shapes, which is trained from its initialization as is meant."""
    kept, asked, model = checkpoint()["model"], Net(), Net()
    asked.load_state_dict(kept)
    optimizer = adam(model)
    for _ in range(8):
        x = torch.randn(16, 12)
        with torch.no_grad():
            targets = asked(x).softmax(1)
        optimizer.zero_grad()
        cross_entropy(model(x), targets).backward()
        optimizer.step()


def initialized(after):
    kept, model = checkpoint()["model"], Net()

    def initialize(part):
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)

    if not after:
        model.apply(initialize)
    model.load_state_dict(kept)
    if after:
        model.apply(initialize)
    train(model, adam(model))


def untied(assign):
    torch.manual_seed(1)
    kept = {name: one.clone() for name, one in Tied().state_dict().items()}
    model = Tied()
    model.load_state_dict(reloaded(kept), assign=assign)
    train(model, adam(model), num_classes=9)


def schedule_after():
    """The schedule is made once the optimizer is loaded, and sets the rate from its beginning."""
    kept, model = checkpoint(), Net()
    model.load_state_dict(kept["model"])
    optimizer = adam(model)
    optimizer.load_state_dict(kept["optimizer"])
    for group in optimizer.param_groups:
        group["lr"], group["initial_lr"] = 0.002, 0.01
    warm = LambdaLR(optimizer, lambda step: 0.1 * (step + 1))
    train(model, optimizer, warm)


def sequential(last_epoch):
    """pytorch#162591: the position of a sequence of schedules is given, and its rate is wrong."""
    kept, model = checkpoint(cosine=False), Net()
    model.load_state_dict(kept["model"])
    optimizer = adam(model)
    for group in kept["optimizer"]["param_groups"]:
        group["lr"], group["initial_lr"] = 0.0009, 0.001
    optimizer.load_state_dict(kept["optimizer"])
    if last_epoch:
        parts = [LambdaLR(optimizer, lambda _: 0.1), LambdaLR(optimizer, lambda _: 0.9)]
        SequentialLR(optimizer, parts, milestones=[20], last_epoch=last_epoch)
    train(model, optimizer)


def by_hand():
    """Another learning rate on purpose."""
    kept, model = checkpoint(cosine=False), Net()
    model.load_state_dict(kept["model"])
    optimizer = adam(model)
    optimizer.load_state_dict(kept["optimizer"])
    for group in optimizer.param_groups:
        group["lr"] = 0.001
    train(model, optimizer)


def stages():
    """Another schedule on purpose, where none was saved: it is said, and not accused."""
    kept, model = checkpoint(cosine=False), Net()
    model.load_state_dict(kept["model"])
    optimizer = adam(model)
    optimizer.load_state_dict(kept["optimizer"])
    train(model, optimizer, LambdaLR(optimizer, lambda step: 0.1 * (step + 1)))


def copied():
    """A copy of the model that was loaded is trained, as for each fold of a cross-validation."""
    first = Net()
    first.load_state_dict(checkpoint()["model"])
    model = copy.deepcopy(first)
    train(model, adam(model, 0.0003))


def teacher_of_a_checkpoint():
    """The file of the teacher holds an optimizer; that of the student does not."""
    asked, model = Net(), Net()
    asked.load_state_dict(checkpoint(cosine=False)["model"])
    model.load_state_dict(reloaded(Net().state_dict()))
    optimizer = adam(model)
    for _ in range(8):
        x = torch.randn(16, 12)
        with torch.no_grad():
            targets = asked(x).softmax(1)
        optimizer.zero_grad()
        cross_entropy(model(x), targets).backward()
        optimizer.step()


def fine_tuned():
    """The weights alone, of a checkpoint that has more, with a learning rate of its own."""
    model = Net()
    model.load_state_dict(checkpoint()["model"])
    train(model, adam(model, 0.0003))


def weights_only():
    model = Net()
    model.load_state_dict(checkpoint()["model"].copy())
    del model.head
    model.head = nn.Linear(24, 5)
    train(model, adam(model, 0.0003))


def best_at_the_end(*, stops_early=False):
    """The best weights are saved and loaded again, as early stopping does."""
    model = Net()
    optimizer = adam(model)
    train(model, optimizer)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    train(model, optimizer)
    file.seek(0)
    model.load_state_dict(torch.load(file)["model"])
    if stops_early:
        train(model, optimizer)
    with torch.no_grad():
        model.eval()(torch.randn(16, 12))


def averaged():
    """Averaged weights are loaded to evaluate, beside those that are trained."""
    kept, model, average = checkpoint(), Net(), Net()
    model.load_state_dict(kept["model"])
    average.load_state_dict(reloaded({n: 0.99 * v for n, v in kept["model"].items()}))
    optimizer = adam(model)
    optimizer.load_state_dict(kept["optimizer"])
    schedule = CosineAnnealingLR(optimizer, 100)
    schedule.load_state_dict(kept["schedule"])
    for group, rate in zip(optimizer.param_groups, schedule.get_last_lr(), strict=True):
        group["lr"] = rate
    train(model, optimizer, schedule)
    with torch.no_grad():
        average.eval()(torch.randn(16, 12))


SCENARIOS = {
    "names: prefix": Scenario("resume", partial(other_names, "module."), True),
    "replaced: optimizer before": Scenario("resume", partial(assigned, True), True),
    "other_module: made again": Scenario("resume", partial(made_twice, twice=True), True),
    "reset: initialized after": Scenario("resume", partial(initialized, True), True),
    "untied: assigned": Scenario("resume", partial(untied, True), True),
    "fresh_optimizer: schedule only": Scenario("resume", partial(goes_on, False), True),
    "schedule: not loaded": Scenario("resume", partial(goes_on, True, False), True),
    "schedule: made after": Scenario("resume", schedule_after, True),
    "schedule: sequential": Scenario("resume", partial(sequential, 30), True),
    "done right": Scenario("resume", goes_on, False),
    "same names": Scenario("resume", partial(other_names, ""), False),
    "a new head": Scenario("resume", new_head, False),
    "optimizer after": Scenario("resume", partial(assigned, False), False),
    "made once": Scenario("resume", partial(made_twice, twice=False), False),
    "a teacher": Scenario("resume", teacher, False),
    "initialized before": Scenario("resume", partial(initialized, False), False),
    "still tied": Scenario("resume", partial(untied, False), False),
    "no schedule": Scenario("resume", partial(sequential, None), False),
    "a rate by hand": Scenario("resume", by_hand, False),
    "a copy": Scenario("resume", copied, False),
    "a teacher with an optimizer": Scenario("resume", teacher_of_a_checkpoint, False),
    "fine-tuned": Scenario("resume", fine_tuned, False),
    "another head in its place": Scenario("resume", weights_only, False),
    "stopped early": Scenario("resume", partial(best_at_the_end, stops_early=True), False),
    "averaged weights": Scenario("resume", averaged, False),
}
