"""Clipping: the norm of the gradients before it and after, and the bound."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.nn.utils import clip_grad_norm_ as imported_early

from tests.support.hooks.torch.captured_rows import names_of, rows_of
from tests.support.hooks.torch.trainings import X, Y, mlp, sgd

BEFORE = "optimizer/gradient_norm_before_clipping"
AFTER = "optimizer/gradient_norm_after_clipping"
BOUNDS = {"low": 0.01, "high": 1e6}


def by_norm(parameters, bound):
    nn.utils.clip_grad_norm_(parameters, bound)


def by_infinite_norm(parameters, bound):
    nn.utils.clip_grad_norm_(parameters, bound, norm_type="inf")


def in_two_parts(parameters, bound):
    """Clip as scripts do whose gradients are spread over devices."""
    parameters = list(parameters)
    norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters])
    nn.utils.clip_grads_with_norm_(parameters, bound, norm)


def by_early_import(parameters, bound):
    imported_early(parameters, max_norm=bound)


def by_value(parameters, bound):
    nn.utils.clip_grad_value_(parameters, bound)


def norm_of(model, order=2.0):
    gradients = [parameter.grad.reshape(-1) for parameter in model.parameters()]
    return torch.linalg.vector_norm(torch.cat(gradients), order).item()


def clipped(seen, clip, bound, order=2.0):
    """Train one step that clips, and return the norms before and after."""
    model = mlp()
    optimizer = sgd(model)
    with seen:
        F.mse_loss(model(X), Y).backward()
        before = norm_of(model, order)
        clip(model.parameters(), bound)
        after = norm_of(model, order)
        optimizer.step()
    return before, after


class TestClipping:
    @pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
    @pytest.mark.parametrize("clip", [by_norm, in_two_parts, by_early_import, by_value])
    def test_both_norms_are_those_of_the_gradients(self, watched, clip, bound):
        """Whether they were changed by it or not, and whichever way the script clips."""
        seen = watched()
        norms = clipped(seen, clip, bound)

        assert pytest.approx(norms, rel=1e-6) == (seen.series(BEFORE)[0], seen.series(AFTER)[0])

    def test_other_norms_are_told_as_they_are(self, watched):
        """The norm is the one that the script clips by."""
        seen = watched()
        norms = clipped(seen, by_infinite_norm, 0.01, order=float("inf"))

        assert pytest.approx(norms, rel=1e-6) == (seen.series(BEFORE)[0], seen.series(AFTER)[0])

    def test_the_norm_after_agrees_with_the_gradients_that_are_captured(self, watched):
        """Gradients are captured after clipping."""
        seen = watched()
        clipped(seen, by_norm, 0.01)

        rows = rows_of(seen)[0]
        squares = [row[9] for name, row in rows.items() if name.startswith("gradient/")]
        assert pytest.approx(sum(squares) ** 0.5, rel=1e-6) == seen.series(AFTER)[0]

    @pytest.mark.parametrize(("clip", "bound"), [(by_norm, "max_norm"), (by_value, "clip_value")])
    def test_the_bound_is_told_under_its_name(self, watched, clip, bound):
        """Norms have a largest one, values have."""
        seen = watched()
        clipped(seen, clip, 0.01)

        assert [0.01] == seen.series(f"optimizer/{bound}")
        assert sorted([AFTER, BEFORE, f"optimizer/{bound}", "optimizer/stale_gradients"]) == (
            names_of(seen, "optimizer")
        )

    @pytest.mark.parametrize("clip", [by_norm, by_value])
    def test_what_is_clipped_is_what_would_be(self, watched, clip):
        """Looking at it changes not a bit, and a generator is not used up."""
        plain, seen = mlp(), mlp()
        F.mse_loss(plain(X), Y).backward()
        clip(plain.parameters(), 0.01)
        with watched():
            F.mse_loss(seen(X), Y).backward()
            clip(seen.parameters(), 0.01)

        for one, other in zip(plain.parameters(), seen.parameters(), strict=True):
            assert torch.equal(one.grad, other.grad)

    def test_infinite_gradients_have_the_norm_that_they_have(self, watched):
        """An infinite norm scales what is finite to zero and what is not to nan."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            F.mse_loss(model(X), Y).backward()
            model[0].weight.grad[0, 0] = torch.inf
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        assert [1] == seen.series(BEFORE, "posinf")
        assert [1] == seen.series(AFTER, "nan")

    def test_the_functions_are_put_back(self, watched):
        """Their code is exchanged while a hook is attached, and no longer."""
        inner = nn.utils.clip_grad_value_.__wrapped__
        before = inner.__code__, dict(inner.__dict__)
        with watched():
            during = inner.__code__

        assert before == (inner.__code__, dict(inner.__dict__))
        assert during is not before[0]

    def test_clipping_compiles_as_one_graph(self, watched):
        """A compiler sees the functions as they were."""
        model = mlp()
        F.mse_loss(model(X), Y).backward()
        clip = torch.compile(by_norm, backend="eager", fullgraph=True)
        with watched():
            clip(list(model.parameters()), 0.01)

        assert pytest.approx(0.01, rel=1e-3) == norm_of(model)
