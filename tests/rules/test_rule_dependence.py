"""Predictions that depend on what they must not: how it is told."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch.hooks.observations import neighbours, purity
from stepwatch.rules.data import PURER
from tests.support.rules.rule_runs import judge

pytestmark = pytest.mark.usefixtures("one_thread")


class _Writer(nn.Module):
    def __init__(self, *, turns=False, back=True):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.rnn = nn.GRU(8, 8)
        self.out = nn.Linear(8, 12)
        self.turns, self.back = turns, back

    def forward(self, tokens):
        given = self.embed(tokens)
        if self.turns:
            logits = self.out(self.rnn(given.transpose(0, 1))[0])
            return logits.transpose(0, 1) if self.back else logits
        return self.out(self.rnn(given)[0])


def _writes(*, turns=False, back=True, time_first=False):
    """A recurrent model of texts of 12 tokens, 16 at a time."""

    def train():
        torch.manual_seed(0)
        model = _Writer(turns=turns, back=back)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        data = torch.randint(0, 12, (400,))
        for _ in range(24):
            at = torch.randint(0, 380, (16,))
            texts = torch.stack([data[i : i + 13] for i in at.tolist()])
            inputs, targets = texts[:, :-1], texts[:, 1:]
            if time_first:
                inputs, targets = inputs.T, targets.T
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
            optimizer.step()

    return train


class TestRecurrent:
    def test_a_layer_that_goes_along_the_samples_of_texts(self, tmp_path):
        """That the targets are the next tokens shows which axis is time."""
        found, _ = judge(_writes(), "dependence", tmp_path / "run")
        told = [json.loads(one) for one in found]

        assert [("as_time", "warning")] == [(one["condition"], one["severity"]) for one in told]

    @pytest.mark.parametrize("batch_first", [False, True])
    def test_attention_over_the_samples_of_windows(self, batch_first, tmp_path):
        """There is a target for each of what it takes for steps, and none for its samples."""

        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.into = nn.Linear(3, 8)
                self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=batch_first)
                self.out = nn.Linear(8, 1)

            def forward(self, x):
                return self.out(self.layer(self.into(x)).mean(1)).squeeze(1)

        def train():
            torch.manual_seed(0)
            model = Encoder()
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            for _ in range(24):
                x = torch.randn(16, 6, 3)
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), x.mean((1, 2))).backward()
                optimizer.step()

        found, _ = judge(train, "dependence", tmp_path / "run")
        told = [json.loads(one) for one in found]

        expected = [] if batch_first else [("as_time", "warning")]
        assert expected == [(one["condition"], one["severity"]) for one in told]

    def test_words_behind_a_mask_say_nothing_of_their_order(self):
        """The mask has many targets, and each of the words beside it a few, whatever they are."""
        rng = np.random.default_rng(0)
        words = rng.integers(4, 84, (64, 12))
        is_masked = rng.random(words.shape) < 0.2
        given, target = np.where(is_masked, 3, words), np.where(is_masked, words, -100)
        in_order, turned = purity(given, target)

        assert abs(in_order - turned) < PURER / 3

    @pytest.mark.parametrize("turned_back", [False, True])
    def test_tags_of_words_that_lie_in_another_order_than_the_predictions(
        self, turned_back, tmp_path
    ):
        """Each word has the same tag mostly, in the order in which the targets lie only."""

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.rnn = nn.Embedding(20, 8), nn.GRU(8, 8)
                self.out = nn.Linear(8, 4)

            def forward(self, x):
                hidden = self.rnn(self.words(x).transpose(0, 1))[0]
                return self.out(hidden.transpose(0, 1) if turned_back else hidden)

        def train():
            torch.manual_seed(0)
            model = Tagger()
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            for _ in range(24):
                x = torch.randint(1, 20, (16, 9))
                optimizer.zero_grad()
                logits = model(x).reshape(-1, 4)
                nn.functional.cross_entropy(logits, (x % 4).reshape(-1)).backward()
                optimizer.step()

        found, _ = judge(train, "dependence", tmp_path / "run")
        told = [json.loads(one) for one in found]

        expected = [] if turned_back else [("order", "warning")]
        assert expected == [(one["condition"], one["severity"]) for one in told]

    @pytest.mark.parametrize("how", [{"turns": True}, {"time_first": True}])
    def test_a_layer_that_is_given_time_first_is_right(self, how, tmp_path):
        """Whether the model turns its input or the script does."""
        assert [] == judge(_writes(**how), "dependence", tmp_path / "run")[0]

    def test_an_output_that_is_not_turned_back_is_one_cause_from_the_start(self, tmp_path):
        """Not that it sees the future as well, which follows from the other order."""
        found, _ = judge(_writes(turns=True, back=False), "dependence", tmp_path / "run")
        told = [json.loads(one) for one in found]

        assert [("order", 0)] == [(one["condition"], one["onset"]) for one in told]


class _Gpt(nn.Module):
    """Returns its loss itself where it is given targets, as scripts of small models do."""

    def __init__(self, *, future):
        super().__init__()
        self.embed, self.where = nn.Embedding(12, 8), nn.Embedding(8, 8)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 12)
        self.hides = torch.ones(8, 8, dtype=torch.bool)
        self.hides = self.hides.tril(-1) if future else self.hides.triu(1)

    def forward(self, tokens, targets=None):
        x = self.embed(tokens) + self.where(torch.arange(8))
        logits = self.out(x + self.attend(x, x, x, attn_mask=self.hides)[0])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


class TestTokens:
    @pytest.mark.parametrize(("future", "conditions"), [(True, ["future"]), (False, [])])
    def test_a_mask_that_hides_the_past_shows_the_future(self, future, conditions, tmp_path):
        """Though the model is given its targets as well, and computes the loss."""

        def train():
            torch.manual_seed(0)
            model, data = _Gpt(future=future), torch.randint(0, 12, (24, 16, 9))
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            for texts in data:
                optimizer.zero_grad()
                model(texts[:, :-1], texts[:, 1:])[1].backward()
                optimizer.step()

        found, _ = judge(train, "dependence", tmp_path / "run")
        assert conditions == [json.loads(one)["condition"] for one in found]


class _Copies(nn.Module):
    """Says again what it is given, told what it has said so far."""

    def __init__(self):
        super().__init__()
        self.given, self.said = nn.Embedding(12, 8), nn.Embedding(12, 8)
        self.out = nn.Linear(8, 12)

    def forward(self, tokens, said):
        return self.out(self.given(tokens) + self.said(said))


def test_a_second_input_that_is_no_target_is_another_task(tmp_path):
    """As what a decoder has said, whose targets may be the first input itself."""

    def train():
        torch.manual_seed(0)
        model, data = _Copies(), torch.randint(1, 12, (24, 16, 8))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for texts in data:
            optimizer.zero_grad()
            said = nn.functional.pad(texts[:, :-1], (1, 0))
            made = model(texts, said).flatten(0, 1)
            nn.functional.cross_entropy(made, texts.flatten()).backward()
            optimizer.step()

    assert [] == judge(train, "label_leak", tmp_path / "run")[0]


def _blobs(rng, size=16):
    """A bright rectangle on noise, and where it is."""
    mask = torch.zeros(size, size)
    top, left = (int(rng.integers(0, size - 6)) for _ in range(2))
    mask[top : top + 5, left : left + 4] = 1
    return mask + 0.3 * torch.from_numpy(rng.standard_normal((size, size))).float(), mask


def _segments(turn, *, classes=False, size=16):
    """A model that finds rectangles in pictures that are augmented by ``turn``."""

    def train():
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        channels = 2 if classes else 1
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, channels, 3, padding=1)
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(24):
            pairs = [turn(rng, *_blobs(rng)) for _ in range(size)]
            pictures, masks = (torch.stack(each)[:, None] for each in zip(*pairs, strict=True))
            optimizer.zero_grad()
            if classes:
                loss = nn.functional.cross_entropy(model(pictures), masks[:, 0].long())
            else:
                loss = nn.functional.binary_cross_entropy_with_logits(model(pictures), masks)
            loss.backward()
            optimizer.step()

    return train


def _flip_apart(rng, picture, mask):
    return (picture.flip(1), mask) if rng.random() < 0.5 else (picture, mask)


def _flip_together(rng, picture, mask):
    return (picture.flip(1), mask.flip(1)) if rng.random() < 0.5 else (picture, mask)


def _transpose(rng, picture, mask):
    return picture, mask.T


class TestPictures:
    @pytest.mark.parametrize("turn", [_flip_apart, _transpose])
    @pytest.mark.parametrize(("classes", "size"), [(False, 16), (True, 16), (False, 4)])
    def test_masks_that_lie_otherwise_than_their_pictures_are_found(
        self, turn, classes, size, tmp_path
    ):
        train = _segments(turn, classes=classes, size=size)
        found, _ = judge(train, "dependence", tmp_path / "run")
        told = [json.loads(one) for one in found]

        assert [("flipped", "warning")] == [(one["condition"], one["severity"]) for one in told]

    @pytest.mark.parametrize("size", [16, 4])
    def test_masks_that_are_flipped_with_them_are_right(self, size, tmp_path):
        assert [] == judge(_segments(_flip_together, size=size), "dependence", tmp_path / "run")[0]

    def test_where_masks_tell_nothing_of_the_pictures_nothing_is_said(self, tmp_path):
        def unrelated(rng, picture, mask):
            return torch.from_numpy(rng.standard_normal(mask.shape)).float(), mask

        assert [] == judge(_segments(unrelated), "dependence", tmp_path / "run")[0]


def _coloured(arrange, *, noise=0.0):
    """A model that classifies coloured waves, of which ``arrange`` makes what it is given."""

    def train():
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        y, x = np.mgrid[:16, :16]
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(784, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(24):
            labels = rng.integers(0, 2, 32)
            phases = rng.uniform(0, 6, (32, 1, 1))
            waves = np.sin(0.5 * np.where(labels[:, None, None], x, y) + phases)
            pictures = waves[..., None] * rng.uniform(0.2, 1, (32, 1, 1, 3))
            pictures += noise * rng.standard_normal(pictures.shape)
            given = torch.from_numpy(arrange(pictures)).float()
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(given), torch.from_numpy(labels)).backward()
            optimizer.step()

    return train


class TestChannels:
    """Pictures with the channels last are given to a model that takes them first."""

    @pytest.mark.parametrize("noise", [0.0, 1.0])
    def test_pictures_that_were_reshaped_are_found(self, noise, tmp_path):
        program = _coloured(lambda pictures: pictures.reshape(-1, 3, 16, 16), noise=noise)
        told = [json.loads(one) for one in judge(program, "dependence", tmp_path / "run")[0]]

        assert ["reshaped"] == [one["condition"] for one in told]

    @pytest.mark.parametrize(
        "arrange",
        [
            lambda pictures: np.moveaxis(pictures, -1, 1),
            lambda pictures: np.random.default_rng(0).standard_normal((32, 3, 16, 16)),
            lambda pictures: np.tile(pictures[:, 0, 0, :, None, None], (16, 16)),
        ],
        ids=["moved", "noise", "nothing but colour"],
    )
    def test_others_are_right(self, arrange, tmp_path):
        assert [] == judge(_coloured(arrange), "dependence", tmp_path / "run")[0]

    @pytest.mark.parametrize("kind", ["first", "last"])
    def test_likeness_is_that_of_the_better_order(self, kind):
        rng = np.random.default_rng(0)
        smooth = rng.standard_normal((16, 1, 1, 3)) + np.cumsum(
            np.cumsum(rng.standard_normal((16, 24, 20, 3)), 1), 2
        )
        first = np.moveaxis(smooth, -1, 1)
        right, wrong = (
            (smooth, first.reshape(smooth.shape))
            if kind == "last"
            else (first, smooth.reshape(first.shape))
        )

        assert neighbours(right)[0] > 0.9 > neighbours(right)[1]
        assert neighbours(wrong)[0] < 0.8 < neighbours(wrong)[1] == neighbours(right)[0]
        assert np.isnan(neighbours(right[:, :, :7])).all()
        assert np.isnan(neighbours(right[..., :1])).all()

    @pytest.mark.parametrize("channels_first", [False, True])
    def test_signals_reshaped_instead_of_transposed_are_found(self, channels_first):
        """By channels that differ; where they are all alike the order is not known."""
        rng = np.random.default_rng(0)
        time = np.linspace(0, 20, 100)[:, None] + rng.uniform(0, 6, (32, 1, 1))
        size = np.array([3.0, 1.0, 0.3, 2.0])
        last = size * np.sin(time * [1, 2, 3, 1.5]) + 0.2 * rng.normal(size=(32, 100, 4))
        first = last.transpose(0, 2, 1)
        right = first if channels_first else last
        wrong = last.reshape(first.shape) if channels_first else first.reshape(last.shape)

        as_it_is, other = neighbours(wrong)
        assert other > 0.9
        assert np.arctanh(other) - np.arctanh(as_it_is) > 0.1
        assert np.isnan(neighbours(np.ascontiguousarray(right))).all()
        alike = np.repeat(rng.normal(size=(32, 100, 1)) + time, 4, 2)
        assert np.isnan(neighbours(alike.transpose(0, 2, 1) if channels_first else alike)).all()


class _Attends(nn.Module):
    """One layer of causal attention that does not see the `hidden` tokens right before each."""

    def __init__(self, hidden, sharpness):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.place = nn.Parameter(torch.randn(16, 8))
        self.query, self.key, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 12)
        places = torch.arange(16)
        back = places[:, None] - places
        self.seen = (back == 0) | (back > hidden)
        self.sharpness = sharpness

    def forward(self, tokens):
        x = self.embed(tokens) + self.place
        scores = self.sharpness * self.query(x) @ self.key(x).transpose(1, 2)
        return self.out(x + scores.masked_fill(~self.seen, -torch.inf).softmax(2) @ x)


def _attends(hidden=0, sharpness=1.0):
    def train():
        torch.manual_seed(0)
        model = _Attends(hidden, sharpness)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        data = torch.randint(0, 12, (400,))
        for _ in range(24):
            at = torch.randint(0, 380, (16,))
            texts = torch.stack([data[i : i + 17] for i in at.tolist()])
            optimizer.zero_grad()
            logits = model(texts[:, :-1]).flatten(0, 1)
            nn.functional.cross_entropy(logits, texts[:, 1:].flatten()).backward()
            optimizer.step()

    return train


class TestSkipped:
    def test_a_mask_that_hides_the_nearest_tokens(self, tmp_path):
        found, _ = judge(_attends(hidden=2), "dependence", tmp_path / "run")
        assert ["blind"] == [json.loads(one)["condition"] for one in found]

    def test_attention_that_sees_a_token_here_and_there(self, tmp_path):
        """Scores are huge once a training diverged: a token is seen, or not at all."""
        found, _ = judge(_attends(sharpness=1e4), "dependence", tmp_path / "run")
        assert [] == found
