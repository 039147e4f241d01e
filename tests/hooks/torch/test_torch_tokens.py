"""The most frequent ids that embeddings are asked for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch.hooks.torch.collectors import embedding
from stepwatch.hooks.torch.collectors.embedding import MOST_TOKENS, most_frequent, present
from tests.support.hooks.torch.summaries_seen import as_on_an_accelerator, names, train, value
from tests.support.hooks.torch.trainings import TinyLSTM

ASKED = "tokens:raw"
IDS = torch.tensor([[3, 0, 0, 7], [0, 3, 0, 0]])


def ids_of(number, seed=0):
    """Return ids of which small ones are frequent."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(number, generator=generator).pow(3).mul(40).long()


class TestMostFrequent:
    @pytest.mark.parametrize("number", [1, 5, 300])
    def test_ids_are_counted_exactly(self, number):
        """The most frequent first; each once."""
        ids = ids_of(number)
        found = present(most_frequent(ids))
        counted = Counter(ids.tolist())

        assert min(MOST_TOKENS, len(counted)) == found.shape[1]
        assert all(counted[token] == count for token, count in found.T.tolist())
        expected = [count for _, count in counted.most_common(MOST_TOKENS)]
        assert expected == found[1].tolist()

    @pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
    def test_any_integers_will_do(self, dtype):
        """Of any shape."""
        found = present(most_frequent(IDS.to(dtype)))
        assert [[0, 3, 7], [5, 2, 1]] == found.tolist()
        assert found.dtype is torch.int64


class TestTokens:
    def test_what_an_embedding_is_given_is_told(self, watched):
        """With how many positions there were, of which the counts are a share."""
        with watched(policy=[ASKED]) as seen:
            train(TinyLSTM(), IDS)

        assert [[0, 3, 7], [5, 2, 1]] == value(seen, "token/embed").tolist()
        assert value(seen, "token_count/embed") == 8.0

    def test_those_of_an_accelerator_come_with_the_end_of_the_step(self, watched, monkeypatch):
        """They are the same; here the CPU plays the accelerator."""
        as_on_an_accelerator(monkeypatch)
        with watched(policy=[ASKED]) as seen:
            train(TinyLSTM(), IDS)

        found = value(seen, "token/embed")
        assert [[0, 3, 7], [5, 2, 1]] == found.tolist()
        assert np.int64 == found.dtype

    def test_by_default_nothing_is_counted(self, watched, monkeypatch):
        """Texts may be private."""
        monkeypatch.setattr(embedding, "most_frequent", None)
        with watched() as seen:
            train(TinyLSTM(), IDS)

        assert [] == names(seen, "tokens")

    def test_no_ids_are_nothing(self, watched):
        """An empty batch goes through."""
        model = nn.Sequential(nn.Embedding(4, 2))
        with watched(policy=[ASKED]) as seen:
            model(torch.zeros(0, 3, dtype=torch.int64)).sum().backward()

        assert [] == names(seen, "tokens")
