"""What predictions depend on, told by derivatives that training never notices."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from stepwatch.hooks.observations import DEPENDENCE
from stepwatch.hooks.torch.collectors.dependence import (
    correlation,
    prediction_row,
    shifts,
)
from stepwatch.hooks.torch.events import LossCall
from tests.support.hooks.torch.summaries_seen import as_on_an_accelerator, names, value


class _Doubled(torch.autograd.Function):
    """A function of the script's own; it counts how often it is differentiated."""

    calls = 0

    @staticmethod
    def forward(context, x):
        return 2 * x

    @staticmethod
    def backward(context, gradient):
        _Doubled.calls += 1
        return 2 * gradient


def trained(model, steps=7, each=lambda output: None, loss=F.cross_entropy):
    """Train for so many steps, and return the last weights."""
    torch.manual_seed(1)
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        output = model(x)
        each(output)
        loss(output, y).backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


def network(last=nn.Identity):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3), last())


# Derivatives are taken for rules that ask.
ASKS = ["derivatives:statistics:steps=5"]


def told(seen, name="dependence/cross_entropy"):
    """Return the first summary of this name by field, empty if there is none."""
    if name not in names(seen, "dependence"):
        return {}
    return dict(zip(DEPENDENCE, value(seen, name, 5).tolist(), strict=True))


class TestUnharmed:
    def test_training_is_the_same_to_the_last_bit(self, watched):
        """No gradient is added to, and no random number drawn."""
        expected = trained(network())
        with watched(policy=ASKS) as seen:
            found = trained(network())

        assert all(map(torch.equal, expected, found))
        assert 0.0 == told(seen)["others"]

    def test_without_being_asked_for_no_graph_is_looked_back(self, watched):
        """A hook on a tensor is called once for each backward; the rest is known all the same."""
        calls = []

        class Listens(nn.Module):
            def forward(self, x):
                y = torch.relu(x)
                if y.requires_grad:
                    y.register_hook(calls.append)
                return y * 2

        with watched() as seen:
            trained(network(Listens))

        assert 7 == len(calls)
        assert {-1.0} == {told(seen)[name] for name in ("others", "order", "future", "gap")}

    def test_a_function_of_the_script_is_not_asked_once_more(self, watched):
        """Whoever writes one may count on being called once for each backward."""

        class Own(nn.Module):
            def forward(self, x):
                return _Doubled.apply(x)

        _Doubled.calls = 0
        with watched(policy=ASKS) as seen:
            trained(network(Own))

        assert 7 == _Doubled.calls
        assert -1.0 == told(seen)["others"]

    @pytest.mark.parametrize(
        "listen",
        [
            lambda tensor, call: tensor.register_hook(call),
            lambda tensor, call: tensor.grad_fn.register_hook(lambda *_: call(None)),
            lambda tensor, call: tensor.grad_fn.register_prehook(call),
        ],
    )
    def test_whoever_listens_to_a_gradient_is_told_once_a_step(self, watched, listen):
        """A hook may write a log, or clip, whether or not a module returned its tensor."""
        heard = []

        class Heard(nn.Module):
            def forward(self, x):
                inside = 1 * x
                listen(inside, lambda given: heard.append(1))
                return inside * 2

        with watched(policy=ASKS) as seen:
            trained(network(Heard))

        assert 7 == len(heard)
        assert -1.0 == told(seen)["others"]

    def test_a_gradient_that_is_kept_is_that_of_the_step(self, watched):
        """``retain_grad`` would add ours to it."""

        def gradients(kept):
            class Kept(nn.Module):
                def forward(self, x):
                    inside = 1 * x
                    inside.retain_grad()
                    kept.append(inside)
                    return inside * 2

            trained(network(Kept))
            return [inside.grad for inside in kept]

        expected = gradients([])
        with watched(policy=ASKS):
            found = gradients([])

        assert all(map(torch.equal, expected, found))

    @pytest.mark.parametrize("reentrant", [False, True])
    def test_what_is_checkpointed_is_computed_anew_once_a_step(self, watched, reentrant):
        """Batch normalization in it would count twice."""
        runs = []

        class Counted(nn.BatchNorm1d):
            def forward(self, x):
                runs.append(1)
                return super().forward(x)

        class Saving(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Counted(3)

            def forward(self, x):
                return checkpoint(self.inner, x, use_reentrant=reentrant)

        with watched(policy=ASKS) as seen:
            trained(network(Saving))

        assert 2 * 7 == len(runs)
        assert -1.0 == told(seen)["others"]

    def test_what_is_moved_to_the_host_is_moved_back_once_a_step(self, watched):
        moved = []

        class Packed(nn.Module):
            def forward(self, x):
                with saved_tensors_hooks(lambda t: t, lambda t: [moved.append(1), t][1]):
                    return x.exp()

        with watched(policy=ASKS):
            trained(network(Packed))

        assert 7 == len(moved)

    def test_whoever_looks_for_anomalies_is_left_alone(self, watched):
        with watched(policy=ASKS) as seen, torch.autograd.set_detect_anomaly(True):
            trained(network())

        assert -1.0 == told(seen)["others"]

    def test_of_several_batches_in_a_step_one_is_asked(self, watched, monkeypatch):
        """A step may accumulate a hundred of them."""
        asked = []
        real = torch.autograd.grad
        monkeypatch.setattr(
            torch.autograd, "grad", lambda *a, **k: [asked.append(1), real(*a, **k)][1]
        )
        model, batch = network(), torch.randn(8, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with watched(policy=ASKS):
            for _ in range(7):
                for _ in range(3):
                    F.cross_entropy(model(batch), torch.arange(8) % 3).backward()
                optimizer.step()

        assert 1 == len(asked)

    def test_nothing_of_torch_stays_replaced(self, watched):
        """Also where a forward is never followed by a loss."""
        before = saved_tensors_hooks.__enter__, torch.Tensor.retain_grad
        with watched(policy=ASKS):
            trained(network(), steps=5)
            network()(torch.randn(8, 4))

        assert before == (saved_tensors_hooks.__enter__, torch.Tensor.retain_grad)


class TestWhatIsTold:
    def test_a_softmax_over_samples_makes_each_depend_on_all(self, watched):
        with watched(policy=ASKS) as seen:
            trained(network(), loss=lambda output, y: F.nll_loss(output.log_softmax(0), y))

        assert told(seen, "dependence/nll_loss")["others"] > 0

    def test_on_an_accelerator_it_comes_when_the_step_ends(self, watched, monkeypatch):
        as_on_an_accelerator(monkeypatch)
        with watched(policy=ASKS) as seen:
            trained(network())

        assert 0.0 == told(seen)["others"]

    def test_batch_normalization_may_mix_samples(self, watched):
        """It is known how many it takes together."""
        with watched(policy=ASKS) as seen:
            trained(network(lambda: nn.BatchNorm1d(3)))

        assert (-1.0, 8.0) == (told(seen)["others"], told(seen)["together"])

    def test_the_first_look_is_the_sixth_step(self, watched):
        with watched(policy=ASKS) as seen:
            trained(network(), steps=5)

        assert {} == told(seen)


class Recommender(nn.Module):
    """Scores items by what was read before each, and is given lists and no tensors."""

    def __init__(self, is_causal):
        super().__init__()
        torch.manual_seed(0)
        self.items, self.is_causal = nn.Embedding(20, 8), is_causal
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, read, following):
        x = self.items(torch.tensor(read))
        length = x.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool).triu(1) if self.is_causal else None
        made, _ = self.attention(x, x, x, need_weights=False, attn_mask=mask)
        return (made * self.items(torch.tensor(following))).sum(-1)


@pytest.mark.parametrize("is_causal", [True, False])
def test_next_items_that_are_looked_up_are_targets(watched, is_causal):
    """What was made of the items before the lookup is what they are compared with."""
    model = Recommender(is_causal)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    items = torch.randint(1, 20, (6, 10))
    items[:, 0] = 0  # padding
    with watched(policy=ASKS) as seen:
        for _ in range(7):
            optimizer.zero_grad()
            scores = model(items[:, :-1].tolist(), items[:, 1:].tolist())
            F.softplus(-scores).mean().backward()
            optimizer.step()

    found = told(seen, "dependence/items")
    assert 1.0 == found["same_1"]
    assert is_causal == (found["future"] == 0)


class TestShifts:
    def test_targets_that_are_the_next_tokens(self):
        tokens = torch.arange(3 * 10).view(3, 10) % 7
        ahead = tokens.roll(-1, 1)

        assert [0.0, 1.0, 0.0] == shifts(tokens, ahead)[:3].tolist()
        assert 1.0 == shifts(tokens, ahead.T.contiguous())[3]

    @pytest.mark.parametrize("target", [torch.zeros(3, 9), torch.zeros(3, dtype=torch.int64)])
    def test_other_targets_tell_nothing(self, target):
        assert shifts(torch.zeros(3, 9, dtype=torch.int64), target).isnan().all()


class TestCorrelation:
    def test_the_column_that_is_the_target_is_named(self):
        x = torch.randn(20, 5, generator=torch.Generator().manual_seed(0))

        value, column = correlation(x, -3 * x[:, 2] + 1).tolist()

        assert (pytest.approx(1.0), 2.0) == (value, column)

    def test_a_column_in_the_order_of_the_target_gives_it_away(self):
        """As the price does where its logarithm is asked for."""
        x = torch.rand(40, 5, generator=torch.Generator().manual_seed(0)) * 100
        target = x[:, 3].log1p()

        assert [1.0, 3.0] == correlation(x, target).tolist()
        noisy = target + 0.1 * torch.randn(40, generator=torch.Generator().manual_seed(1))
        assert correlation(x, noisy)[0] < 0.999, "what tells it well is a feature"

    def test_classes_that_a_column_decides_are_a_task(self):
        x = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))

        assert correlation(x, (x[:, 3] > 0).float())[0] < 0.999

    def test_the_last_place_of_a_window_is_looked_at(self):
        windows = torch.randn(20, 6, 2, generator=torch.Generator().manual_seed(0))

        assert [pytest.approx(1.0), 11.0] == correlation(windows, windows[:, -1, 1]).tolist()
        assert correlation(windows, windows[:, 0, 1])[0] < 0.9, "to remember is a task"

    def test_what_comes_next_in_a_series_is_no_column_of_it(self):
        series = torch.linspace(0, 40, 800).cos()
        windows = series.unfold(0, 12, 1)

        assert correlation(windows[:-1], windows[1:, -1]).isnan().all()
        assert 11.0 == correlation(windows, windows[:, -1])[1]

    @pytest.mark.parametrize("axes", [1, 2])
    def test_an_earlier_place_of_a_series_with_noise_is_no_task(self, axes):
        """As where the horizon of a forecast is taken away and not added."""
        generator = torch.Generator().manual_seed(0)
        steps = torch.randn(400, generator=generator)
        series = torch.zeros(400)
        for at in range(1, 400):
            series[at] = 0.95 * series[at - 1] + steps[at]
        windows = series.unfold(0, 24, 1)[:64]
        given = windows if axes == 1 else windows[..., None]

        assert [pytest.approx(1.0), 18.0] == correlation(given, windows[:, 18]).tolist()
        assert not correlation(given, series[24:88])[0] > 0.999

    @pytest.mark.parametrize(
        ("places", "is_told"),
        [
            (slice(18, 24), True),  # the last of the window
            (slice(24, 30), False),  # what comes next
            (slice(1, 25), False),  # the window itself, moved on by one
        ],
    )
    def test_a_forecast_horizon_inside_the_input_window_is_found(self, places, is_told):
        generator = torch.Generator().manual_seed(0)
        steps = torch.randn(400, generator=generator)
        series = torch.zeros(400)
        for at in range(1, 400):
            series[at] = 0.95 * series[at - 1] + steps[at]
        long = series.unfold(0, 30, 1)[:64]
        given = long[:, :24, None]

        assert is_told == bool(correlation(given, long[:, places])[0] > 0.999)

    def test_a_series_that_repeats_itself_gives_nothing_away(self):
        """What comes next is what was a day ago, to the last bit."""
        day = (torch.arange(24) / 24 * 2 * torch.pi).sin()
        series = day.repeat(10)
        windows = series.unfold(0, 30, 1)[:100]

        assert correlation(windows, series[30:130])[0].isnan()
        assert not correlation(windows[..., None], series[30:130])[0] > 0.999

    def test_a_target_that_does_not_vary_has_none(self):
        assert correlation(torch.randn(20, 5), torch.ones(20))[0].isnan()


class TestRows:
    @pytest.mark.parametrize(
        ("shape", "expected"), [((8, 3), True), ((8, 8), False), ((8, 7), False), ((4, 3), False)]
    )
    def test_only_of_predictions_of_each_sample(self, shape, expected):
        """A contrast has a column for each of the samples, or for each but itself."""
        rows = prediction_row(torch.zeros(8, 4), torch.zeros(shape), LossCall("cross_entropy"))

        assert expected == (rows is not None)

    def test_the_row_that_is_looked_at_tells_both_orders_apart(self):
        given = torch.zeros(16, 32, dtype=torch.int64)
        rows = prediction_row(given, torch.zeros(512, 9), LossCall("cross_entropy"))

        assert rows.flat_index // 32 != rows.flat_index % 16
