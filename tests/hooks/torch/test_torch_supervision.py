"""Which targets count, and which tokens of the input they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from stepwatch.hooks.torch import observe
from stepwatch.hooks.torch.collectors.supervision import (
    FIELDS,
    SHIFTS,
    SHIFTS_SHAPE,
    SIZE,
    UNKNOWN,
    joined,
    place_of,
    shift_matches,
)
from stepwatch.rules import supervision as rule
from tests.support.rules.supervision_programs import (
    Tagger,
    classes,
    ended,
    masked,
    shifted_by,
    trains,
)


def matches_one_by_one(ids, target, counted):
    """Return the same as ``shift_matches``, counted one by one."""
    found = np.zeros((2, len(SHIFTS)), np.int64)
    for sample, position in np.ndindex(*target.shape):
        tokens = ids[sample].tolist()
        while tokens and tokens[-1] == ids[sample, -1]:
            tokens.pop()
        length = len(tokens) if len(tokens) < ids.shape[1] - 1 else ids.shape[1]
        for number, by in enumerate(SHIFTS):
            if counted[sample, position] and 0 <= position + by < length:
                found[1, number] += 1
                found[0, number] += bool(target[sample, position] == ids[sample, position + by])
    return found


@st.composite
def tokens_and_targets(draw):
    num_samples, length = draw(st.integers(1, 4)), draw(st.integers(1, 7))
    num_targets = draw(st.integers(1, length))
    make = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    ids = torch.randint(0, draw(st.integers(1, 5)), (num_samples, length), generator=make)
    target = torch.randint(0, 5, (num_samples, num_targets), generator=make)
    return ids, target, torch.rand(target.shape, generator=make) < 0.7


class TestShiftMatches:
    @given(tokens_and_targets())
    def test_they_are_those_that_are_found_one_by_one(self, drawn):
        np.testing.assert_array_equal(matches_one_by_one(*drawn), shift_matches(*drawn).numpy())

    @given(st.sampled_from(SHIFTS), st.integers(0, 1000))
    def test_what_is_shifted_is_known_by_how_much(self, by, seed):
        make = torch.Generator().manual_seed(seed)
        ids = torch.randint(0, 1000, (4, 16), generator=make)
        target = ids.roll(-by, 1)

        matched, compared = shift_matches(ids, target, torch.ones_like(target) > 0).numpy()
        assert by == rule.single_shift(matched, compared)

    @pytest.mark.parametrize("period", [1, 2])
    def test_what_is_periodic_is_of_no_shift(self, period):
        ids = torch.arange(12).remainder(period).expand(4, 12)

        matched, compared = shift_matches(ids, ids, torch.ones_like(ids) > 0).numpy()
        assert rule.single_shift(matched, compared) is None

    def test_the_end_of_a_sample_may_be_a_target_only(self):
        """As where the last token is taken off the input, and what is left is padded."""
        make = torch.Generator().manual_seed(0)
        ids = torch.randint(2, 1000, (4, 9), generator=make)
        given, target = torch.zeros(4, 16).long(), torch.zeros(4, 16).long()
        given[:, :8] = ids[:, :8]
        target[:, :7] = ids[:, 2:]

        matched, compared = shift_matches(given, target, target > 0).numpy()
        assert rule.single_shift(matched, compared) == 2

    def test_where_nothing_counts_no_shift_is_found(self):
        ids = torch.arange(12)[None]

        matched, compared = shift_matches(ids, ids, torch.zeros_like(ids) > 0).numpy()
        assert (0, None) == (compared.sum(), rule.single_shift(matched, compared))


class TestPlaceOf:
    def test_it_is_where_the_rows_are(self):
        output = torch.arange(30.0).reshape(10, 3)

        assert [0, 4, 7] == [int(place_of(output[at : at + 3], output)) for at in (0, 4, 7)]

    def test_it_is_not_known_if_there_is_none_or_more_than_one(self):
        assert int(place_of(torch.ones(3, 2), torch.zeros(9, 2))) < 0
        assert int(place_of(torch.zeros(3, 2), torch.zeros(9, 2))) < 0


class TestJoined:
    def test_counts_add_up_and_the_rest_is_the_largest(self):
        one, other = np.zeros((2, SIZE), np.int64)
        one[FIELDS.index("counted")], other[FIELDS.index("counted")] = 3, 4
        one[FIELDS.index("classes")], other[FIELDS.index("classes")] = 9, 9
        one[-3:], other[-3:] = [7, 2, 1], [7, 3, 0]
        both = joined(one, other)

        assert (7, 9) == (both[FIELDS.index("counted")], both[FIELDS.index("classes")])
        assert [7, 5, 1] == both[-3:].tolist()

    def test_of_two_last_tokens_the_more_frequent_is_kept(self):
        one, other = np.zeros((2, SIZE), np.int64)
        one[-3:], other[-3:] = [7, 2, 1], [8, 3, 0]

        assert [8, 3, 0] == joined(one, other)[-3:].tolist()


def fields(seen, step=0, name="supervision/cross_entropy"):
    value = seen.trial.tensor(name).value(step)
    return dict(zip(FIELDS, value.tolist(), strict=False)), value


class TestSupervision:
    def test_the_layout_is_that_of_the_rule(self):
        """The two rooms do not know each other."""
        assert (rule._NUM_FIELDS, rule._SIZE) == (len(FIELDS), SIZE)
        assert (rule._SHIFTS, rule._SHIFTS_SHAPE) == (SHIFTS, SHIFTS_SHAPE)
        assert rule._UNKNOWN == UNKNOWN
        values = np.arange(SIZE)
        assert FIELDS.index("largest") == rule.Look(values).largest
        assert FIELDS.index("ignore_index") == rule.Look(values).ignore_index

    def test_every_tenth_step_targets_are_compared(self, watched):
        with watched() as seen:
            trains(shifted_by(1), steps=11)

        assert [0, 10] == sorted(seen.trial.tensor("supervision/cross_entropy").values())
        named, value = fields(seen)
        assert (1, 96, 88, 17, -100) == tuple(
            named[one] for one in ("calls", "targets", "counted", "classes", "ignore_index")
        )
        matched, compared = value[len(FIELDS) :][:60].reshape(SHIFTS_SHAPE)[0, 0]
        assert (88, 88) == (matched[SHIFTS.index(1)], compared[SHIFTS.index(1)])

    def test_of_other_losses_and_of_evaluations_there_is_none(self, watched):
        with watched() as seen:
            model = Tagger().eval()
            with torch.no_grad():
                ids = torch.zeros(2, 8, dtype=torch.int64)
                F.cross_entropy(model(ids).transpose(1, 2), ids)
            nn.Linear(3, 1)(torch.ones(2, 3)).square().mean().backward()

        assert [] == seen.trial.tensor_names("^supervision/")

    @pytest.mark.parametrize("program", [shifted_by(1), masked("hidden"), ended(1)])
    def test_on_an_accelerator_nothing_is_waited_for(self, watched, monkeypatch, program):
        """What was counted there comes to the host at the end of the step, and is the same."""
        with watched() as here:
            trains(program, steps=2)
        monkeypatch.setattr(observe, "on_host", lambda _: False)
        with watched() as there:
            trains(program, steps=2)

        np.testing.assert_array_equal(fields(here)[1], fields(there)[1])

    def test_losses_are_the_same_to_the_last_bit(self, watched):
        """And so are the random numbers that follow."""
        found = []
        for policy in (["supervision:none"], ["supervision:raw"]):
            with watched(policy=policy) as seen:
                trains(masked("hidden"), steps=5)
                classes(0)()
            found.append((seen.series("loss/cross_entropy"), torch.rand(1).item()))

        assert found[0] == found[1]

    def test_classes_on_the_second_of_three_axes_are_the_same(self, watched):
        def turned(step):
            given, targets, _ = shifted_by(1)(step)
            return given, targets, lambda x, y: F.cross_entropy(x.transpose(1, 2), y)

        found = []
        for program in (shifted_by(1), turned):
            with watched() as seen:
                trains(program, steps=1)
            found.append(fields(seen)[1])

        np.testing.assert_array_equal(*found)
