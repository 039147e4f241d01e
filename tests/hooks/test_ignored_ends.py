"""Targets of next tokens that cover the beginnings of texts and ignore their ends."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.hooks.padding import IgnoredEnds

LENGTH = 12
PLACE = np.arange(LENGTH)


def seen(counts, *, texts=None, mask=True, looks=3, size=8):
    """Look at texts of which the targets ``counts`` of their positions count."""
    found, random = IgnoredEnds(), np.random.default_rng(0)
    for _ in range(looks):
        tokens = random.integers(2, 50, (size, LENGTH)) if texts is None else texts(random)
        counted = np.broadcast_to(counts, tokens.shape)
        found.add(tokens, np.roll(tokens, -1, 1), counted, np.ones_like(tokens) if mask else None)
    return found


class TestIgnoredEnds:
    def test_labels_on_prompts_only_are_reported(self):
        assert seen(PLACE < 5).is_found

    @pytest.mark.parametrize(
        "counts",
        [
            PLACE >= 5,
            PLACE >= 0,
            (PLACE < 3) | (PLACE > 7),
            PLACE % 3 == 0,
            (PLACE > 1) & (PLACE < 5),
        ],
        ids=["the end", "all", "two turns", "scattered", "the middle"],
    )
    def test_other_ignored_targets_are_not_reported(self, counts):
        assert not seen(counts).is_found

    def test_one_last_token_is_what_a_shift_leaves(self):
        assert not seen(PLACE < LENGTH - 2).is_found

    def test_two_looks_are_not_enough(self):
        assert not seen(PLACE < 5, looks=2).is_found

    def test_looks_at_one_text_are_too_few_until_there_are_eight(self):
        assert [False, True] == [seen(PLACE < 5, looks=one, size=1).is_found for one in (7, 8)]

    def test_ends_that_are_all_alike_are_no_answers(self):
        """As the tokens that close a turn are."""

        def texts(random):
            tokens = random.integers(2, 50, (8, LENGTH))
            tokens[:, -3:] = 2, 3, 4
            return tokens

        assert not seen(PLACE < LENGTH - 4, texts=texts).is_found

    def test_padding_is_no_end(self):
        def texts(random):
            tokens = random.integers(2, 50, (8, LENGTH))
            tokens[:, 6:] = 0
            return tokens

        assert not seen(PLACE < 5, texts=texts, mask=False).is_found

    def test_without_padding_what_follows_one_token_in_all_texts_may_be_anything(self):
        def texts(random):
            tokens = random.integers(2, 50, (8, LENGTH))
            tokens[:, 5] = 1
            return tokens

        assert not seen(PLACE < 5, texts=texts, mask=False).is_found
        assert seen(PLACE < 4, texts=texts, mask=False).is_found

    @pytest.mark.parametrize("of_text", [True, False])
    def test_a_mask_is_read_either_way_round(self, of_text):
        """What it tells as it does of the targets that count is text."""
        found, random = IgnoredEnds(), np.random.default_rng(0)
        mask = np.broadcast_to((PLACE < 9) == of_text, (8, LENGTH))
        for _ in range(3):
            tokens = random.integers(2, 50, (8, LENGTH))
            found.add(tokens, np.roll(tokens, -1, 1), np.broadcast_to(PLACE < 8, mask.shape), mask)
        assert not found.is_found
