"""The operation that made the first value that is not finite, found in the graph of a loss."""

from __future__ import annotations

import tracemalloc

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.hooks.torch.autograd import (
    SingularOperations,
    find_non_finite,
    takes_last_only,
)

X = torch.linspace(-1, 1, 20).view(5, 4)
LABELS = torch.tensor([0, 1, 2, 0, 1])


class Model(nn.Module):
    """A linear layer, something, and another linear layer.

    Args:
        between: What is done between the two.
    """

    def __init__(self, between=torch.tanh):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last, self.between = nn.Linear(4, 8), nn.Linear(8, 3), between

    def forward(self, x):
        return self.last(self.between(self.first(x)))


def found_in(model, x=X, loss=F.cross_entropy):
    value = loss(model(x), LABELS)
    assert not torch.isfinite(value)
    return find_non_finite(value, {id(p): name for name, p in model.named_parameters()})


class TestOperation:
    @pytest.mark.parametrize(
        ("between", "name"),
        [
            (torch.log, "log (before last)"),
            (torch.sqrt, "sqrt (before last)"),
            (lambda h: torch.exp(1000 * h), "exp (before last)"),
            (lambda h: h / (h - h), "div (before last)"),
            (lambda h: h - torch.log(0 * h.detach().abs() * h), "log (before last)"),
            (lambda h: torch.log(torch.relu(h)).sum(1, keepdim=True) + h, "log (before last)"),
        ],
    )
    def test_it_is_named_with_what_follows(self, between, name):
        found = found_in(Model(between))

        assert name == found.name
        assert not torch.isfinite(found.output).all()
        assert all(torch.isfinite(one).all() for one in found.inputs)

    def test_that_of_the_loss_itself_has_no_module_after_it(self):
        found = found_in(
            Model(), loss=lambda out, labels: -torch.log(torch.relu(out)).mean() + 0 * labels.sum()
        )

        assert "log" == found.name

    def test_data_that_are_not_finite_were_made_by_none(self):
        x = X.clone()
        x[2, 1] = float("nan")
        found = found_in(Model(), x)

        assert found.output is None
        assert ["addmm (before first)", 1] == [found.name, len(found.inputs)]

    def test_minus_infinity_counts_where_nothing_else_is_not_finite(self):
        found = found_in(
            Model(), loss=lambda out, labels: F.mse_loss(-out.abs() / 0, 0 * labels[:, None] + out)
        )

        assert "div" == found.name

    def test_minus_infinity_may_be_a_mask(self):
        """The first nan comes after it."""
        mask = torch.zeros(8).index_fill(0, torch.tensor([1]), -float("inf"))
        found = found_in(Model(lambda h: torch.log(torch.softmax(h * 1 + mask, -1) - 0.5)))

        assert "log (before last)" == found.name

    def test_a_deep_graph_takes_no_more_than_its_nodes(self):
        """As that of a recurrent network over many steps."""

        def deep(h):
            for _ in range(6000):
                h = h * 1
            return torch.log(h)

        tracemalloc.start()
        found = found_in(Model(deep))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert "log (before last)" == found.name
        assert peak < 30 * 2**20


class TestNothing:
    def test_a_finite_loss(self):
        loss = F.cross_entropy(Model()(X), LABELS)

        assert find_non_finite(loss, {}) is None

    def test_a_loss_without_a_graph(self):
        assert find_non_finite(torch.tensor(float("nan")), {}) is None

    def test_a_target_that_is_not_finite_was_made_by_no_operation(self):
        """Though it has the shape of what a linear layer made."""
        model, target = nn.Linear(4, 1), torch.full((8, 1), float("nan"))
        found = find_non_finite(nn.functional.mse_loss(model(torch.randn(8, 4)), target), {})

        assert ("mse_loss", None) == (found.name, found.output)
        assert found.inputs[0] is target

    def test_a_graph_that_was_freed(self):
        """Nobody is disturbed."""
        loss = F.cross_entropy(Model(torch.log)(X), LABELS)
        loss.backward()

        assert find_non_finite(loss, {}) is None


SINGULAR = {
    "sqrt": (torch.sqrt, 0.0),
    "pow": (lambda x: x**0.5, 0.0),
    "log": (lambda x: torch.where(x > 0, torch.log(x), 0 * x), 0.0),
    "acos": (torch.acos, 1.0),
    "div": (lambda x: torch.where(x > 0, x.sin() / x, 0 * x), 0.0),
    "reciprocal": (lambda x: torch.where(x > 0, 1 / x, 0 * x), 0.0),
    "rsqrt": (lambda x: torch.where(x > 0, x.rsqrt(), 0 * x), 0.0),
}


class TestSingularOperations:
    @pytest.mark.parametrize("name", SINGULAR)
    def test_the_one_with_an_infinite_derivative_is_known_after_the_backward_pass(self, name):
        """It was given one element out of four where its derivative is infinite."""
        function, at = SINGULAR[name]
        x = torch.tensor([0.1, 0.2, at, 0.3], requires_grad=True)
        loss = function(x).sum()
        operations = SingularOperations()
        operations.search(loss, {})
        loss.backward()
        found = operations.take_infinite()

        assert found is not None
        assert (name, 1, 4) == (
            found.name,
            int(found.derivative.isinf().sum()),
            found.derivative.numel(),
        )
        assert operations.take_infinite() is None  # all of them are forgotten

    @pytest.mark.parametrize("name", SINGULAR)
    def test_none_is_found_elsewhere(self, name):
        loss = SINGULAR[name][0](torch.tensor([0.1, 0.2], requires_grad=True)).sum()
        operations = SingularOperations()
        operations.search(loss, {})

        assert operations.take_infinite() is None

    def test_a_known_way_is_gone_again_in_another_graph(self):
        """It is searched once, and in the steps between only looked up."""
        operations = SingularOperations()
        for value, expected in ((0.5, False), (0.0, True)):
            x = torch.tensor([value], requires_grad=True)
            loss = x.sqrt().sum() * 2
            if expected:
                operations.keep(loss)
            else:
                operations.search(loss, {})
            assert expected is (operations.take_infinite() is not None)

    def test_a_graph_that_looks_otherwise_tells_nothing(self):
        operations = SingularOperations()
        operations.search(torch.tensor([0.0], requires_grad=True).sqrt().sum(), {})
        operations.take_infinite()
        operations.keep(torch.tensor([0.0], requires_grad=True).tanh().sum())
        operations.keep(torch.tensor(1.0))

        assert operations.take_infinite() is None


class TestTakesLastOnly:
    """Of what a recurrent layer returns, a loss may be given its last output or last state."""

    @pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
    @pytest.mark.parametrize("time", [0, 1])
    @pytest.mark.parametrize(
        ("use", "expected"),
        [
            (lambda whole, state, time: state[-1], True),
            (lambda whole, state, time: state.squeeze(0), True),
            (lambda whole, state, time: whole[:, -1, :] if time else whole[-1], True),
            (lambda whole, state, time: whole.select(time, 4), True),
            (lambda whole, state, time: whole.select(time, 0), False),
            (lambda whole, state, time: whole.select(1 - time, -1), False),
            (lambda whole, state, time: whole.mean(time), False),
            (lambda whole, state, time: whole[torch.tensor([1, 2]), torch.tensor([0, 1])], False),
            (lambda whole, state, time: state[-1] + whole.amax(time), False),
        ],
        ids=["state", "squeezed", "last", "fifth", "first", "sample", "mean", "by length", "both"],
    )
    def test_it_is_known_from_the_graph(self, layer, time, use, expected):
        made = layer(4, 6, batch_first=time == 1)
        whole, state = made(torch.randn(3, 5, 4) if time else torch.randn(5, 3, 4))
        state = state[0] if isinstance(state, tuple) else state
        edges = (whole.grad_fn, whole.output_nr), (state.grad_fn, state.output_nr)

        assert expected is takes_last_only(use(whole, state, time).sum(), *edges, time)
