"""Trainings that were put together by mistake, and others that were meant so."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch import TorchHook
from stepwatch.model.steps import Mode
from stepwatch.rules.plateau import _is_accuracy
from stepwatch.rules.setup import follows_counts
from stepwatch.rules.shared import direction
from stepwatch.trial import Trial
from tests.support.rules.made_steps import full_step, judged
from tests.support.rules.rule_runs import assert_live_is_replay, judge
from tests.support.rules.setup_programs import CASES

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.condition])
def test_what_was_put_together_by_mistake_is_named(name, tmp_path):
    """By its condition, once, live and in replay."""
    case = CASES[name]
    found, statuses = judge(case.program, case.rule, tmp_path / "run")

    assert [case.condition] == [one.condition[: len(case.condition)] for one in read(found)]
    assert_live_is_replay(tmp_path / "run", case.rule, found, statuses)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.condition])
def test_what_was_meant_so_is_not_accused(name, tmp_path):
    case = CASES[name]
    found, _ = judge(case.program, case.rule, tmp_path / "run")

    assert [] == found


def test_a_layer_that_stands_at_several_places_is_named_with_its_container(tmp_path):
    (text,), _ = judge(CASES["a list of one block"].program, "setup", tmp_path / "run")
    (found,) = read([text])

    assert ("setup/repeated/blocks", 3.0, "warning") == (found.tensor, found.value, found.severity)
    assert found.message.startswith("one layer stands at 3 places of blocks")


class TestFollowsCounts:
    @pytest.mark.parametrize(
        ("weights", "counts", "expected"),
        [
            ([0.9, 0.1], [900, 100], True),
            ([1.0, 9.0], [900, 100], False),
            ([1.0, 0.8], [900, 100], False),  # a small preference is none of the counts
            ([0.7, 0.2, 0.1], [700, 200, 100], True),
            ([0.1, 0.2, 0.7], [700, 200, 100], False),
            ([0.7, 0.2, 0.1], [300, 310, 290], False),  # classes are about as frequent
            ([0.7, 0.2, 0.1], [700, 3, 4], False),  # of two too little is known
            ([0.0, 0.2, 0.2], [700, 200, 100], False),  # a class is left out
        ],
    )
    def test_only_weights_that_rise_with_the_counts_do(self, weights, counts, expected):
        assert expected is follows_counts(np.array(weights), np.array(counts))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("val_accuracy", 1),
        ("acc", 1),
        ("val_auc_1", 1),
        ("val_sparse_categorical_accuracy", 1),
        ("f1_score", 1),
        ("val_loss", -1),
        ("val_dice_loss", -1),
        ("root_mean_squared_error", -1),
        ("val_mae", -1),
        ("neg_log_loss", 0),
        ("fpr_at_recall", 0),
        ("score", 0),
    ],
)
def test_a_metric_is_known_by_its_name(metric, expected):
    assert expected == direction(metric)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([31 / 80, 52 / 80, 60 / 80, 64 / 80], True),
        ([38.75, 65.0, 75.0, 80.0], True),  # percent
        (list(np.float32([0.3875, 0.65, 0.75, 0.8])), True),
        ([0.3871, 0.6502, 0.7513, 0.8027], True),  # rounded, or of 10,000 samples
        ([0.38710233, 0.65024341, 0.75137711, 0.80279135], False),
        ([0.8, 0.75, 0.65, 0.3875], False),  # it falls
        ([0.5, 0.5, 0.75, 0.75], False),  # two values are any two
        ([1.3, 1.7, 2.0, 2.4], False),
    ],
)
def test_an_accuracy_is_a_count_out_of_some_samples(values, expected):
    assert expected is _is_accuracy(np.array(values, np.float64))


def read(texts):
    from stepwatch.rules import Finding

    return [Finding.from_json(text) for text in texts]


@pytest.mark.parametrize("evaluates_weighted", [False, True])
def test_a_loss_that_is_weighted_in_training_only_is_noted(evaluates_weighted, tmp_path):
    """The two losses cannot be compared by how large they are."""
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = torch.tensor([1.0, 2.0, 3.0])
    with TorchHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        for _ in range(3):
            x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
            model.train()
            F.cross_entropy(model(x), y, weight).backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(x), y, weight if evaluates_weighted else None)
    noted = Trial(tmp_path / "run").tensor_names("^setup/weighted/")

    assert noted == ([] if evaluates_weighted else ["setup/weighted/cross_entropy"])


class Reads(nn.Module):
    """Reads tokens with a recurrent layer, and takes something of what that returns."""

    def __init__(self, takes, layer=nn.LSTM, **options):
        super().__init__()
        self.embed, self.takes = nn.Embedding(20, 8, padding_idx=0), takes
        self.cell = layer(8, 8, batch_first=True, **options)
        self.head = nn.LazyLinear(2)

    def forward(self, tokens):
        return self.head(self.takes(self.cell, self.embed(tokens), (tokens != 0).sum(1)))


def _last_state(cell, embedded, lengths):
    return cell(embedded)[1][0][-1]


def _last_output(cell, embedded, lengths):
    return cell(embedded)[0][:, -1]


def _packed(cell, embedded, lengths):
    sequence = nn.utils.rnn.pack_padded_sequence(
        embedded, lengths, batch_first=True, enforce_sorted=False
    )
    return cell(sequence)[1][0][-1]


def _of_length(cell, embedded, lengths):
    return cell(embedded)[0][torch.arange(len(lengths)), lengths - 1]


def _mean(cell, embedded, lengths):
    return cell(embedded)[0].mean(1)


class TestPaddedLast:
    def _noted(self, run, model, *, pad_first=False, length=40):
        generator = torch.Generator().manual_seed(0)
        tokens = torch.zeros(64, length, dtype=torch.int64)
        at = slice(length - 4, length) if pad_first else slice(4)
        tokens[:, at] = torch.randint(1, 20, (64, 4), generator=generator)
        optimizer = None
        with TorchHook(run=run, say=lambda _: None, strict=True):
            for _ in range(12):
                loss = F.cross_entropy(model(tokens), tokens[:, at][:, 0] % 2)
                optimizer = optimizer or torch.optim.Adam(model.parameters())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return [
            (name, Trial(run).tensor(name).statistics()["sum"][0])
            for name in Trial(run).tensor_names("^setup/padded_last/")
        ]

    @pytest.mark.parametrize("takes", [_last_state, _last_output])
    def test_a_last_state_after_padding_is_noted_with_the_share_of_that(self, takes, tmp_path):
        found = self._noted(tmp_path / "run", Reads(takes))

        assert [("setup/padded_last/cell", pytest.approx(0.9))] == found

    @pytest.mark.parametrize("takes", [_packed, _of_length, _mean])
    def test_what_knows_the_padding_or_sees_all_is_let_be(self, takes, tmp_path):
        assert [] == self._noted(tmp_path / "run", Reads(takes))

    def test_both_directions_and_padding_at_the_beginning_are_let_be(self, tmp_path):
        both = Reads(_last_output, bidirectional=True)

        assert [] == self._noted(tmp_path / "both", both)
        assert [] == self._noted(tmp_path / "first", Reads(_last_state), pad_first=True)

    def test_gradients_that_vanish_because_of_it_say_so(self):
        """It is the reason that is given, with the remedy for it."""
        kinds = {"gradients": {"gradient/a": [1e-12]}, "setup": {"setup/padded_last/cell": [0.9]}}
        (found,), _ = judged("vanishing_gradient", [full_step(kinds, 0)])

        assert "cell returns its last state without a mask" in found.message
        assert "pack_padded_sequence" in found.remedy


class TestRecoded:
    def test_columns_are_named_with_one_category_and_its_codes(self):
        """In whichever step they were found."""
        tensors = {
            f"evaluation/recoded{what}/{column}": np.array(value)
            for column in ("city/Rome", "shop/3")
            for what, value in (("", 0.75), ("_before", 2.0), ("_now", 0.0))
        }
        (found,), _ = judged("setup", [full_step({"evaluations": tensors}, 0, mode=Mode.EVAL)])

        assert ("recoded city", 0.75) == (found.condition, found.value)
        assert "the categories of city, shop were given codes for training, and" in found.message
        assert "of city 'Rome' is 2 in training and 0 in evaluation, and 75% of" in found.message

    def test_a_scaler_that_was_fitted_again(self):
        tensors = {
            f"evaluation/rescaled{what}/StandardScaler/2": np.array(value)
            for what, value in (("", 0.75), ("_ratio", 1.5))
        }
        (found,), _ = judged("setup", [full_step({"evaluations": tensors}, 0, mode=Mode.EVAL)])

        assert ("rescaled StandardScaler", 0.75) == (found.condition, found.value)
        assert "the center of feature 2 is 0.75 of its scales" in found.message

    @pytest.mark.parametrize(
        ("condition", "told"),
        [
            ("reshuffled", "scorer predicted from a data set that is shuffled anew"),
            ("changed_by_reading", "reading a sample changes it in scorer:"),
            ("split_edges", "scorer holds out single directions"),
            ("unfitted", "scorer normalizes what is evaluated by statistics of no data"),
        ],
    )
    def test_what_prepares_data_otherwise_than_it_should(self, condition, told):
        tensors = {f"evaluation/{condition}/scorer": np.array(1.0)}
        (found,), _ = judged("setup", [full_step({"evaluations": tensors}, 0)])

        assert condition == found.condition
        assert found.message.startswith(told)
