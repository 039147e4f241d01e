"""The same is captured of compiled models: nothing is broken, and nothing compiled anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint

from stepwatch.numerics.statistics import COUNT, NAN
from tests.support.hooks.torch.captured_rows import rows_of
from tests.support.hooks.torch.trainings import Watched, inputs, sgd

pytestmark = [pytest.mark.usefixtures("nothing_compiled"), pytest.mark.slow]

X, Y = inputs(12, 6), inputs(12, 3, seed=2)


@dataclass
class Output:
    logits: torch.Tensor
    parts: dict[str, torch.Tensor]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.fc = nn.Linear(6, 6)
        self.act = nn.ReLU()

    def forward(self, x, *, gain=1.0):
        return x + self.act(self.fc(self.norm(x))) * gain


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(6, 3)

    def forward(self, x, y):
        for block in self.blocks:
            x = block(x, gain=0.5)
        logits = self.head(x)
        return Output(logits, {"square": logits**2}), F.mse_loss(logits, y)


def compiled(model, how, **options):
    options = {"backend": "aot_eager", **options}
    if how == "eager":
        return model
    if how == "in place":
        model.compile(**options)
        return model
    if how == "blocks":
        for block in model.blocks:
            block.compile(**options)
        return model
    if how == "function":
        return torch.compile(lambda x, y: model(x, y), **options)
    return torch.compile(model, fullgraph=how == "whole", **options)


def train(model, run, *, steps=4, evaluate=True):
    """Train, with one evaluation between; return the losses."""
    optimizer, losses = sgd(model), []
    for step in range(steps):
        optimizer.zero_grad()
        _, loss = run(X, Y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step == 1 and evaluate:
            model.eval()
            with torch.no_grad():
                run(X, Y)
            model.train()
    return losses


# What a compiled function has none of, and what is another time each time.
ASIDE = [f"{collection}:none" for collection in ("predictions", "labels", "samples", "loop")]


def captured(watched, how, **options):
    """Return losses, rows of every step, and the coverage line."""
    torch._dynamo.reset()
    model = Net()
    with watched(policy=ASIDE) as seen:
        losses = train(model, compiled(model, how, **options))
    return losses, rows_of(seen), seen.said


def batches_aside(rows):
    return [{name for name in row if not name.startswith("batch/")} for row in rows]


WAYS = (
    "whole",
    "blocks",
    *(pytest.param(how, marks=pytest.mark.slow) for how in ("model", "in place", "function")),
)


def graphs():
    counters = torch._dynamo.utils.counters
    return counters["stats"]["unique_graphs"], dict(counters["graph_break"])


class TestTheSame:
    @pytest.mark.parametrize("how", WAYS)
    def test_the_same_tensors_are_captured(self, watched, how):
        """At each step of training and evaluation, with the same losses and statistics."""
        expected_losses, expected, _ = captured(watched, "eager")

        losses, found, said = captured(watched, how)

        assert expected_losses == losses
        assert batches_aside(expected) == batches_aside(found)
        for wanted, row in zip(expected, found, strict=True):
            for name in wanted.keys() & row.keys():
                np.testing.assert_allclose(row[name], wanted[name], rtol=1e-12, err_msg=name)
        assert ["capturing 10 of 10 parameters, 10 of 10 outputs"] == said

    @pytest.mark.slow
    def test_by_the_default_compiler(self, watched):
        """As code of its own for this machine, the statistics in it."""
        _, expected, _ = captured(watched, "eager")

        _, found, said = captured(watched, "whole", backend="inductor")

        assert ["capturing 10 of 10 parameters, 10 of 10 outputs"] == said
        for wanted, row in zip(expected, found, strict=True):
            assert wanted.keys() == row.keys()
            for name in wanted:
                np.testing.assert_allclose(row[name], wanted[name], rtol=1e-3, atol=1e-5)

    @pytest.mark.parametrize("how", ["blocks", pytest.param("whole", marks=pytest.mark.slow)])
    @pytest.mark.slow
    def test_on_an_accelerator_too(self, watched, how, monkeypatch):
        """There all slots come to the host together at the end of a step."""
        _, expected, _ = captured(watched, "eager")
        monkeypatch.setattr("stepwatch.hooks.torch.graphs.is_host", lambda device: False)

        _, found, said = captured(watched, how)

        assert ["capturing 10 of 10 parameters, 10 of 10 outputs"] == said
        for wanted, row in zip(expected, found, strict=True):
            assert wanted.keys() == row.keys()
            for name in wanted:
                np.testing.assert_allclose(row[name], wanted[name], rtol=1e-12, err_msg=name)

    @pytest.mark.slow
    def test_what_was_compiled_before_is_seen(self, watched):
        """A graph holds only the hooks that were there when it was compiled."""
        model = Net()
        run = compiled(model, "model")
        train(model, run)
        with watched() as seen:
            train(model, run)

        assert [
            "what was compiled before is compiled again, to be seen",
            "capturing 10 of 10 parameters, 10 of 10 outputs",
        ] == seen.said

    @pytest.mark.slow
    def test_a_second_hook_sees_as_much(self, watched):
        """The graphs that the first one had compiled do not hide the model."""
        model = Net()
        run = compiled(model, "model")
        with watched() as first:
            train(model, run, evaluate=False)
        with watched() as second:
            train(model, run, evaluate=False)

        assert first.said[-1] == second.said[-1]
        assert [row.keys() for row in rows_of(first)] == [row.keys() for row in rows_of(second)]


class TestNothingBroken:
    @pytest.mark.parametrize("how", WAYS)
    @pytest.mark.slow
    def test_there_are_as_many_graphs_as_without(self, watched, how):
        """And breaks; and after the first steps nothing is compiled anew."""

        def counted():
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            model = Net()
            run = compiled(model, how)
            train(model, run)
            first = graphs()
            train(model, run)
            return first, graphs()

        expected = counted()
        with watched():
            found = counted()

        assert expected == found
        assert found[0] == found[1], "after the first steps nothing is compiled anew"

    def test_blocks_share_their_graph(self, watched):
        """One for all of a class, as many as there are."""
        model = nn.Sequential(*(Block() for _ in range(12)))
        for block in model:
            block.compile(backend="aot_eager")
        optimizer = sgd(model)
        with watched() as seen:
            model(X.clone().requires_grad_()).sum().backward()
            optimizer.step()

        assert 1 == graphs()[0]
        assert "capturing 48 of 48 parameters, 49 of 49 outputs" == seen.end.coverage

    def test_an_exported_program_is_as_without(self, watched):
        """Nothing of ours is in it."""
        model = nn.Sequential(nn.Linear(6, 6), nn.ReLU())
        expected = torch.export.export(model, (X,)).graph_signature
        with watched():
            found = torch.export.export(model, (X,)).graph_signature

        assert expected == found

    def test_a_transform_inside_of_a_graph_works(self, watched):
        """What is batched there cannot be added up; it is named."""
        model = nn.Linear(6, 6)
        run = torch.compile(lambda x: torch.vmap(model)(x), backend="aot_eager", fullgraph=True)
        optimizer = sgd(model)
        with watched() as seen:
            result = run(X)
            result.sum().backward()
            optimizer.step()

        assert X.shape == result.shape
        assert "0 of 1 outputs (inside vmap or grad: Linear)" in seen.end.coverage


@pytest.fixture(scope="module")
def two_steps(tmp_path_factory):
    """One compiled model: three micro-batches, then a weight that is nan."""
    torch._dynamo.reset()
    model = Net()
    run, optimizer = compiled(model, "model"), sgd(model)
    with Watched(tmp_path_factory.mktemp("compiled") / "run") as seen:
        for _ in range(3):
            run(X, Y)[1].backward()
        optimizer.step()
        with torch.no_grad():
            model.blocks[1].fc.bias[2] = float("nan")
        run(X, Y)[1].backward()
        optimizer.step()
    return seen


class TestWhatRunsInside:
    def test_micro_batches_add_up(self, two_steps):
        """The rows of one step are those of all its forwards."""
        sizes = [3 * X.numel(), X.numel()]
        assert sizes == two_steps.series("output/blocks.0.fc", "count")

    def test_a_checkpointed_part_is_seen_once(self, watched):
        """Backward computes it anew, which is no second observation."""

        class Checkpointed(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block()

            def forward(self, x):
                return checkpoint(self.block, x, use_reentrant=False).sum()

        model = Checkpointed()
        run, optimizer = torch.compile(model, backend="aot_eager", fullgraph=True), sgd(model)
        with watched() as seen:
            run(X).backward()
            optimizer.step()

        assert [X.numel()] == seen.series("output/block.fc", "count")

    @pytest.mark.slow
    def test_other_precisions_are_read_as_they_are(self, watched):
        """Autocast computes in bfloat16."""
        model = Net()
        run, optimizer = compiled(model, "whole"), sgd(model)
        with watched() as seen:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                _, loss = run(X, Y)
            loss.backward()
            optimizer.step()

        assert "bfloat16" == seen.infos()["output/blocks.0.fc"].dtype
        assert [X.numel()] == seen.series("output/blocks.0.fc", "count")

    def test_a_nan_is_counted(self, two_steps):
        """Where it arose."""
        assert [0, 0] == two_steps.series("output/blocks.1.norm", "nan")
        assert [0, len(X)] == two_steps.series("output/blocks.1.fc", "nan")
        _, rows = rows_of(two_steps)
        spoiled = [name for name, row in rows.items() if row[NAN] and "output/" in name]
        assert "output/blocks.1.fc" == spoiled[0], "what is inside of the model ended before it"

    def test_shapes_may_change(self, watched):
        """The last one is told."""
        model = nn.Sequential(nn.Linear(6, 6), nn.ReLU())
        run, optimizer = torch.compile(model, backend="aot_eager", dynamic=True), sgd(model)
        with watched() as seen:
            for size in (4, 7, 9):
                run(X[:size]).sum().backward()
                optimizer.step()

        assert [24, 42, 54] == seen.series("output/0", "count")
        assert (9, 6) == seen.infos()["output/0"].shape

    def test_attention_is_sampled_as_outside(self, watched):
        """The same rows; what the mask hides is left out."""

        class Attending(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.qkv = nn.Linear(6, 18)

            def forward(self, x):
                parts = self.qkv(x).view(3, 4, 3, 6).unbind(-2)
                return F.scaled_dot_product_attention(*parts, is_causal=True).sum()

        def rows(run_of):
            torch._dynamo.reset()
            model = Attending()
            run, optimizer = run_of(model), sgd(model)
            with watched() as seen:
                run(X).backward()
                optimizer.step()
            (row,) = rows_of(seen)
            return {name: row[name] for name in row if name.startswith("attention/")}

        expected = rows(lambda model: model)
        found = rows(lambda model: compiled(model, "whole"))

        assert {"attention/Attending/logits", "attention/Attending/entropy"} == expected.keys()
        assert expected.keys() == found.keys()
        for name, row in expected.items():
            np.testing.assert_allclose(found[name], row, rtol=1e-6, err_msg=name)

    @pytest.mark.parametrize("is_host", [True, False])
    def test_attention_of_changing_shapes_is_sampled_on_the_host(
        self, watched, is_host, monkeypatch
    ):
        """By one graph; on an accelerator it would be one for each shape, so it is left out."""
        monkeypatch.setattr("stepwatch.hooks.torch.graphs.is_host", lambda device: is_host)

        class Attending(nn.Linear):
            def forward(self, x):
                query = super().forward(x)[None]
                return F.scaled_dot_product_attention(query, query, query).sum()

        model = Attending(6, 6)
        run, optimizer = torch.compile(model, backend="aot_eager", dynamic=True), sgd(model)
        with watched(policy=["attention:statistics:every=1"]) as seen:
            for size in (4, 5, 6, 7):
                run(X[:size]).backward()
                optimizer.step()
        counts = [row.get("attention/Attending/entropy", [0])[COUNT] for row in rows_of(seen)]

        assert ([4, 5, 6, 7] if is_host else [0, 0, 0, 0]) == counts
        left_out = ", no attention of changing shapes inside compiled graphs on accelerators"
        assert is_host != seen.said[0].endswith(left_out)
        assert 1 == graphs()[0]

    def test_a_loss_module_is_named_by_its_class(self, watched):
        """As outside of a graph."""
        model, criterion = nn.Linear(6, 3), nn.MSELoss()
        run = torch.compile(lambda x, y: criterion(model(x), y), backend="aot_eager")
        optimizer = sgd(model)
        with watched() as seen:
            run(X, Y).backward()
            optimizer.step()

        assert ["loss/MSELoss"] == seen.losses

    def test_checkpointed_blocks_are_seen_once_each(self, watched):
        """Their graphs run again in backward; that is nobody's output."""

        class Stack(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([Block(), Block(), Block()])

            def forward(self, x):
                for block in self.blocks:
                    x = checkpoint(block, x, use_reentrant=False)
                return x.sum()

        model = Stack()
        for block in model.blocks:
            block.compile(backend="aot_eager")
        optimizer = sgd(model)
        with watched() as seen:
            model(X.clone().requires_grad_()).backward()
            optimizer.step()

        counts = [seen.series(f"output/blocks.{index}.fc", "count") for index in range(3)]
        assert 3 * [[X.numel()]] == counts

    def test_a_part_that_is_compiled_has_one_name(self, watched):
        """That of what is inside of the wrapper, once."""
        model = nn.Sequential(torch.compile(Block(), backend="aot_eager"), nn.Linear(6, 1))
        optimizer = sgd(model)
        with watched() as seen:
            model(X).sum().backward()
            optimizer.step()

        outputs = seen.trial.tensor_names(collection="outputs")
        assert ["act", "fc", "norm"] == [
            name.removeprefix("output/0.") for name in outputs if name.startswith("output/0.")
        ]
        assert [X.numel()] == seen.series("output/0", "count")
        assert ["capturing 6 of 6 parameters, 6 of 6 outputs"] == seen.said

    def test_a_block_of_other_parts_is_no_hindrance(self, watched):
        """Of one class, one may have what another has not."""

        class Choice(nn.Module):
            def __init__(self, *, down):
                super().__init__()
                self.fc = nn.Linear(6, 6)
                if down:
                    self.down = nn.Linear(6, 6)

            def forward(self, x):
                return self.fc(x) + (self.down(x) if hasattr(self, "down") else x)

        model = nn.Sequential(Choice(down=True), Choice(down=False))
        inner = torch.compile(model[0].forward, backend="aot_eager")
        model[1].compile(backend="aot_eager")
        optimizer = sgd(model)
        with watched() as seen:
            model[1](inner(X)).sum().backward()
            optimizer.step()

        assert ("", 1) == (seen.end.lost, seen.end.steps)


class TestOptimizers:
    def test_a_step_that_is_compiled_whole_goes_on(self, watched):
        """Its hooks are traced, and do nothing there."""

        class Plain(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

            @torch.no_grad()
            def step(self):
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter.sub_(parameter.grad, alpha=0.1)

        model = nn.Linear(6, 1)
        optimizer = Plain(model.parameters())
        step = torch.compile(optimizer.step, fullgraph=True, backend="eager")
        before = model.weight.detach().clone()
        with watched():
            model(X).sum().backward()
            step()

        torch.testing.assert_close(before - 0.1 * X.sum(0), model.weight[0].detach()[None])
