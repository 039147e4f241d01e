"""A recorded step is run again: bit for bit, or the first tensor that is not is named."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from stepwatch.errors import StepUnavailable
from stepwatch.trial.recording import find_recording
from tests.support.hooks.torch.replays import INPUTS, TARGETS, Replayed, record


def classifier():
    return nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3)
    )


def shuffled(epochs=4, batch_size=8):
    loader = DataLoader(TensorDataset(INPUTS, TARGETS), batch_size=batch_size, shuffle=True)
    for _ in range(epochs):
        yield from loader


def dropout_and_schedule():
    """AdamW, a schedule, dropout, batch norm, a loss module, a shuffling loader."""
    model, loss = classifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.95**step)
    for inputs, targets in shuffled():
        optimizer.zero_grad()
        loss(model(inputs), targets).backward()
        optimizer.step()
        schedule.step()


def cycled(make):
    """A schedule that changes a momentum, or a beta, as well as the rate."""
    model = classifier()
    optimizer = make(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=50)
    for inputs, targets in shuffled():
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        schedule.step()


def micro_batches():
    """Two forwards in a step, momentum, clipping, and an evaluation now and then."""
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for step, (inputs, targets) in enumerate(shuffled()):
        optimizer.zero_grad()
        for half in (slice(0, 4), slice(4, 8)):
            F.cross_entropy(model(inputs[half]), target=targets[half]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        if step % 3 == 2:
            model.eval()
            with torch.no_grad():
                model(INPUTS)
            model.train()


def layer_by_layer():
    """An optimizer for each layer, all of one kind and shape; they step in another order."""
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(3)), nn.Linear(8, 3, bias=False))
    optimizers = [
        torch.optim.SGD(layer.parameters(), lr=0.1 / number, momentum=0.9)
        for number, layer in enumerate(model, 1)
    ]
    optimizers = [optimizers[place] for place in (2, 0, 3, 1)]
    for inputs, targets in shuffled():
        model.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        for optimizer in optimizers:
            optimizer.step()


def by_closure(make):
    """A training whose optimizer runs the model in its own step."""

    def train():
        model = classifier()
        optimizer = make(model.parameters(), lr=0.05)
        for inputs, targets in shuffled(epochs=1):

            def closure(inputs=inputs, targets=targets):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), targets)
                loss.backward()
                return loss

            optimizer.step(closure)

    return train


class Keyed(nn.Module):
    """A model that is given everything by name, and computes its own loss."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, *, batch, labels=None):
        hidden = self.embed(batch["tokens"]).mean(1) + batch["more"][0]
        return F.cross_entropy(self.head(F.dropout(hidden, 0.2)), labels)


def by_keyword():
    model = Keyed()
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
    for inputs, targets in shuffled():
        tokens, noise = torch.randint(20, (8, 5)), (torch.randn(8, 8),)
        optimizer.zero_grad()
        model(batch={"tokens": tokens, "more": noise}, labels=targets).backward()
        optimizer.step()
        del inputs


def two_models():
    """A discriminator that is given what a generator makes, each with its optimizer."""
    maker, judge = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 1))
    of_maker = torch.optim.RMSprop(maker.parameters(), lr=0.01)
    of_judge = torch.optim.AdamW(judge.parameters(), lr=0.01)
    for inputs, _ in shuffled():
        made = maker(torch.randn(8, 4))
        of_judge.zero_grad()
        real = F.binary_cross_entropy_with_logits(judge(inputs), torch.ones(8, 1))
        fake = F.binary_cross_entropy_with_logits(judge(made.detach()), torch.rand(8, 1) / 9)
        (real + fake).backward()
        of_judge.step()
        of_maker.zero_grad()
        F.binary_cross_entropy_with_logits(judge(made), torch.ones(8, 1)).backward()
        of_maker.step()


class TestBitForBit:
    """The script begins with other random numbers, so weights and batches are others, too."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("train", "mode_step"),
        [
            (dropout_and_schedule, 0),
            (dropout_and_schedule, 13),
            (micro_batches, 0),
            (micro_batches, 10),
            (micro_batches, 13),
            (by_keyword, 10),
            (by_keyword, 12),
            (two_models, 10),
            (two_models, 13),
        ],
    )
    def test_every_tensor_has_the_bits_that_were_recorded(self, tmp_path, train, mode_step):
        """At a snapshot and some steps behind it, from full values of what is seen once."""
        record(train, tmp_path / "run")
        replayed = Replayed(train, tmp_path / "run", mode_step)

        assert ("", []) == (replayed.hook.refusal, replayed.different)
        values = {one.name for one in replayed.compared if one.by == "value"}
        seen_once = {"gradient"} if train is micro_batches else {"gradient", "output", "loss"}
        assert seen_once <= {name.partition("/")[0] for name in values}

    def test_adamw_and_its_schedule_at_step_thirty(self, tmp_path):
        """Moments, step count and learning rate are those of that step."""
        record(dropout_and_schedule, tmp_path / "run")
        replayed = Replayed(dropout_and_schedule, tmp_path / "run", 31)

        assert [] == replayed.different
        rate = replayed.hook.record.raw["learning_rate/0"]
        assert 0.01 * 0.95**31 == pytest.approx(float(rate))

    @pytest.mark.parametrize("make", [partial(torch.optim.SGD, momentum=0.9), torch.optim.AdamW])
    def test_what_a_schedule_makes_of_momentum_is_put_back(self, tmp_path, make):
        record(partial(cycled, make), tmp_path / "run")
        replayed = Replayed(partial(cycled, make), tmp_path / "run", 17)

        assert ("", []) == (replayed.hook.refusal, replayed.different)

    @pytest.mark.parametrize("mode_step", [0, 13])
    def test_optimizers_of_one_kind_are_told_apart(self, tmp_path, mode_step):
        """By the order in which they step: states are put back, and rates have their numbers."""
        record(layer_by_layer, tmp_path / "run")
        replayed = Replayed(layer_by_layer, tmp_path / "run", mode_step)

        assert ("", []) == (replayed.hook.refusal, replayed.different)
        rates = [float(replayed.recorded.raw[f"learning_rate/{number}"]) for number in range(4)]
        assert [0.1 / 3, 0.1, 0.1 / 4, 0.1 / 2] == pytest.approx(rates)

    @pytest.mark.parametrize("mode_step", [2, 3])
    @pytest.mark.parametrize(
        "make", [torch.optim.AdamW, partial(torch.optim.SGD, momentum=0.9)], ids=["adamw", "sgd"]
    )
    def test_an_optimizer_that_runs_its_closure_first(self, tmp_path, make, mode_step):
        """As Lightning has it: its state is put back when the model is about to run."""
        record(by_closure(make), tmp_path / "run", every=2)
        replayed = Replayed(by_closure(make), tmp_path / "run", mode_step)

        assert "" == replayed.hook.refusal
        assert replayed.compared
        assert [] == replayed.different

    def test_statistics_are_enough(self, tmp_path):
        """Of a run that saved no full values, what it has is compared."""
        record(dropout_and_schedule, tmp_path / "run", policy=None)
        replayed = Replayed(dropout_and_schedule, tmp_path / "run", 12)

        assert "same statistics" == replayed.outcome
        assert "statistics" in {one.by for one in replayed.compared}

    def test_the_step_that_became_nan_is_kept_without_being_asked(self, tmp_path):
        """The black box takes a snapshot at the first loss that is not finite."""

        def train(spoiled=5):
            model = classifier()
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            for step, (inputs, targets) in enumerate(shuffled(epochs=1)):
                bad = inputs * torch.nan if step == spoiled else inputs
                optimizer.zero_grad()
                F.cross_entropy(model(bad), targets).backward()
                optimizer.step()

        record(train, tmp_path / "run", every=0)
        replayed = Replayed(lambda: train(spoiled=-1), tmp_path / "run", 5)

        assert ("", []) == (replayed.hook.refusal, replayed.different)
        assert np.isnan(replayed.hook.record.raw["loss/cross_entropy"])


class TestTheScript:
    def test_it_is_stopped_after_the_step(self, tmp_path):
        """From the snapshot to the step and not one further; nothing of ours is left in torch."""
        code = F.cross_entropy.__code__
        record(dropout_and_schedule, tmp_path / "run")
        steps = []

        def counted():
            model, loss = classifier(), nn.CrossEntropyLoss()
            optimizer = torch.optim.AdamW(model.parameters())
            for inputs, targets in shuffled():
                steps.append(1)
                loss(model(inputs), targets).backward()
                optimizer.step()

        replayed = Replayed(counted, tmp_path / "run", 13)

        assert (True, 4) == (replayed.stopped, len(steps))
        assert code is F.cross_entropy.__code__

    def test_catching_what_stops_it_does_not_train_it_on(self, tmp_path):
        """Every later forward is stopped again."""
        record(dropout_and_schedule, tmp_path / "run")
        forwards = []

        def stubborn():
            model, loss = classifier(), nn.CrossEntropyLoss()
            optimizer = torch.optim.AdamW(model.parameters())
            for inputs, targets in shuffled(epochs=1):
                try:
                    output = model(inputs)
                    forwards.append(1)
                    loss(output, targets).backward()
                    optimizer.step()
                except SystemExit:
                    pass

        Replayed(stubborn, tmp_path / "run", 11)

        assert 2 == len(forwards)


class TestNotReproduced:
    def test_a_flipped_bit_of_a_recorded_weight_is_found_where_it_is(self, tmp_path, monkeypatch):
        """The lowest bit of one element: the weight is named first, and what follows from it."""
        record(dropout_and_schedule, tmp_path / "run")

        def spoiled(frames, mode_step):
            recording = find_recording(frames, mode_step)
            arrays = dict(recording.snapshot.arrays)
            weight = arrays["model/4.weight"].copy()
            weight.view(np.int32)[1, 2] ^= 1
            arrays["model/4.weight"] = weight
            return replace(recording, snapshot=replace(recording.snapshot, arrays=arrays))

        monkeypatch.setattr("tests.support.hooks.torch.replays.find_recording", spoiled)
        replayed = Replayed(dropout_and_schedule, tmp_path / "run", 10)
        (first, *_), by_name = replayed.different, {one.name: one for one in replayed.compared}

        assert ("4.weight", "[1, 2]", 1.0) == (first, by_name[first].at, by_name[first].ulp)
        assert "output/4" in replayed.different
        assert "output/0" not in replayed.different

    def test_a_random_source_of_the_scripts_own_is_a_difference(self, tmp_path):
        """It is not recorded, so the first output that depends on it differs."""
        own = torch.Generator().manual_seed(7)

        class Noisy(nn.Linear):
            def forward(self, x):
                return super().forward(x) + torch.rand(3, generator=own)

        def train():
            model = nn.Sequential(nn.Linear(8, 8), Noisy(8, 3))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for inputs, targets in shuffled():
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()

        record(train, tmp_path / "run")
        replayed = Replayed(train, tmp_path / "run", 10)

        assert ("differs", "output/1") == (replayed.outcome, replayed.different[0])


def trained(model, loss=F.cross_entropy, make=torch.optim.AdamW, forwards=1):
    """Return a training that is another than the one that was recorded."""

    def train():
        net = model()
        optimizer = make(net.parameters())
        for inputs, targets in shuffled(epochs=1):
            optimizer.zero_grad()
            for _ in range(forwards):
                loss(net(inputs), targets).backward()
            optimizer.step()

    return train


class OwnSGD(torch.optim.SGD):
    """An optimizer of which nobody knows what it does first."""


class TestRefused:
    @pytest.mark.parametrize(
        ("train", "why"),
        [
            (trained(lambda: nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 3))), "0.weight has the"),
            (trained(lambda: nn.Linear(8, 3)), "runs Linear where Sequential was recorded"),
            (trained(lambda: nn.Sequential(*classifier(), nn.Linear(3, 3))), "has no 5.weight"),
            (
                trained(classifier, make=torch.optim.Adam),
                r"Adam of \[6\] parameters; recorded were",
            ),
            (trained(classifier, loss=F.multi_margin_loss), "calls multi_margin_loss where"),
            (trained(classifier, forwards=2), "runs Sequential once more"),
        ],
        ids=["shapes", "model", "layers", "optimizer", "loss", "forwards"],
    )
    def test_another_script_is_refused_in_one_line(self, tmp_path, train, why):
        """What it does that was not recorded is said, and it is stopped there."""
        record(trained(classifier), tmp_path / "run", every=2)
        replayed = Replayed(train, tmp_path / "run", 2)

        assert replayed.stopped
        with pytest.raises(AssertionError, match=why):
            assert not replayed.hook.refusal, replayed.hook.refusal

    @pytest.mark.parametrize("mode_step", [0, 3])
    @pytest.mark.parametrize("make", [partial(torch.optim.LBFGS, max_iter=2), OwnSGD])
    def test_an_optimizer_that_may_use_its_state_before_its_closure(
        self, tmp_path, make, mode_step
    ):
        """At every step: what it remembers is in use before anything could be put back."""
        record(by_closure(make), tmp_path / "run", every=2)
        replayed = Replayed(by_closure(make), tmp_path / "run", mode_step)

        assert replayed.stopped
        assert " runs Sequential within its own step" in replayed.hook.refusal

    def test_a_script_that_starts_its_processes_itself(self, tmp_path):
        """They would train as if nothing had been recorded."""
        record(trained(classifier), tmp_path / "run", every=2)
        replayed = Replayed(lambda: torch.multiprocessing.spawn(print, ()), tmp_path / "run", 2)

        assert replayed.stopped
        assert "starts the processes that train itself" in replayed.hook.refusal

    def test_a_script_that_does_not_train_is_not_over(self, tmp_path):
        """There is nothing to compare."""
        record(trained(classifier), tmp_path / "run", every=2)
        replayed = Replayed(lambda: classifier().eval()(INPUTS), tmp_path / "run", 2)

        assert (False, None) == (replayed.hook.over, replayed.hook.record)

    def test_a_model_that_ran_after_the_snapshot_is_not_in_it(self, tmp_path):
        """Of the first step only what runs first is known; the second model is missed."""
        record(two_models, tmp_path / "run")

        assert "the snapshot has no Sequential.0.weight" in (
            Replayed(two_models, tmp_path / "run", 0).hook.refusal
        )

    def test_a_batch_without_room_is_told(self, tmp_path):
        """With what to do."""
        big = INPUTS.repeat(1, 10_000)

        def train():
            model = nn.Linear(80_000, 3)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(2):
                F.cross_entropy(model(big), TARGETS).backward()
                optimizer.step()

        record(train, tmp_path / "run", every=1)
        with pytest.raises(StepUnavailable, match="args/0 of TRAIN step 1 is not in the black box"):
            Replayed(train, tmp_path / "run", 1).recording.check_complete()
