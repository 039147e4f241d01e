"""What is lost to formats of sixteen and eight bits, where they are used and before."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import ml_dtypes
import numpy as np
import pytest
import torch

from stepwatch import LiveWatch, TorchHook
from stepwatch.numerics.exponents import count_exponents
from stepwatch.rules import StepView, build
from tests.support.rules.made_steps import full_record, full_step, judged, steps_at


@pytest.mark.parametrize(("size", "fires"), [(2.0**-7, True), (1.0, False)])
def test_gradients_of_eight_bits_that_underflow_are_found(size, fires):
    """Their least normal number is 2**-6."""
    gradient = np.where(np.arange(100) % 4 == 0, size, 0).astype(ml_dtypes.float8_e4m3fn)
    steps = [full_step({"gradients": {"gradient/fc.weight": gradient}}, s) for s in range(8)]

    assert fires == bool(steps_at("low_precision_loss", steps))


def lost_updates(steps, *, share=0.9, rate=lambda _: 0.1):
    """Return the condition and the onset of what is found in looks at these steps."""
    looks = [
        full_step(
            {
                "updates": {"lost_updates/weight": np.float32(share)},
                "learning_rates": {"learning_rate/0": rate(step)},
            },
            step,
        )
        for step in steps
    ]
    found, _ = judged("low_precision_loss", looks)
    return [(one.condition, one.onset, one.step) for one in found][:1]


class TestLostUpdates:
    def test_looks_that_lie_far_apart_are_enough(self):
        """A budget leaves few: they tell of longer than as many in a row."""
        assert [("lost_updates", 0, 200)] == lost_updates([0, 10, 200, 400])
        assert [] == lost_updates([0, 10, 20, 30])
        assert [] == lost_updates([0, 200])
        assert [] == lost_updates([0, 10, 200, 400], share=0.4)

    def test_while_the_learning_rate_rises_nothing_is_said(self):
        """At first it may be too small on purpose."""
        assert [] == lost_updates(range(0, 100, 10), rate=lambda step: step / 100)
        found = lost_updates(range(0, 200, 10), rate=lambda step: min(step, 100) / 100)
        assert [("lost_updates", 110, 150)] == found


def counted(values, step):
    """Return a step with a gradient and the histogram of its exponents."""
    record = full_record({"gradients": {"gradient/fc.weight": np.float32(values)}}, step)
    return StepView([replace(record, exponents={"gradient/fc.weight": count_exponents(values)})])


class TestTargetFormat:
    """What fp8 would lose is told before it is used."""

    def conditions(self, spec, steps):
        found, _ = judged(f"low_precision_loss:target=float8_e4m3fn{spec}", steps)
        return [finding.condition.split()[0] for finding in found]

    def test_small_numbers_are_flushed_only_where_nothing_scales_them(self):
        """Of a normal distribution of width 1e-3 two thirds are below the half of 2**-9."""
        steps = [counted(1e-3 * np.random.default_rng(s).standard_normal(500), s) for s in range(6)]

        assert ["flushed"] == self.conditions(",scaled=false", steps)
        assert [] == self.conditions("", steps)

    def test_what_spans_too_many_powers_of_two_is_flushed_at_every_scale(self):
        values = np.append(np.full(99, 1e-4), 100.0)

        assert ["flushed"] == self.conditions("", [counted(values, s) for s in range(6)])

    def test_what_is_larger_than_the_largest_number_is_told(self):
        values = np.linspace(1, 1000, 100)
        assert ["too_large"] == self.conditions(
            ",scaled=false", [counted(values, s) for s in range(6)]
        )

    def test_a_jump_of_the_largest_magnitude_makes_a_learnt_scale_stale(self):
        steps = [counted(np.full(9, 20.0 if s == 18 else 1.0), s) for s in range(30)]
        found, _ = judged("low_precision_loss:target=float8_e4m3fn", steps)

        assert [(18, "jump gradients", 20.0)] == [(f.step, f.condition, f.value) for f in found]

    def test_it_asks_for_the_exponents(self):
        assert () == build("low_precision_loss", {}).rule.evidence
        asked = build("low_precision_loss", {"target": "float8_e5m2"}).rule.evidence
        assert "gradients:exponents:every=10" in asked


class _Normalized(torch.nn.Module):
    """A layer and a normalization whose gains of one are too large for small updates."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(8, 32), torch.nn.RMSNorm(32)
        self.last = torch.nn.Linear(32, 4)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu())


@pytest.mark.parametrize(
    ("rate", "dtype", "expected"),
    [
        (1e-3, torch.bfloat16, [("rounded_away", "info")]),
        (1e-6, torch.bfloat16, [("rounded_away", "warning")]),
        (0.0, torch.bfloat16, [("unchanged", "warning")]),
        (1e-3, torch.float32, []),
    ],
)
def test_weights_whose_updates_are_rounded_away_are_told_from_those_that_nothing_moves(
    rate, dtype, expected, tmp_path
):
    """A small part that stands still, as the gains of normalizations, is no fault by itself."""
    torch.manual_seed(0)
    model = _Normalized().to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    live = LiveWatch("untrained_parameter")
    with TorchHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
        for _ in range(15):
            optimizer.zero_grad()
            model(torch.randn(32, 8, dtype=dtype)).float().square().mean().backward()
            optimizer.step()

    assert expected == [(one.condition, one.severity) for one in live.findings]


def _trains(tmp_path, dtype, make):
    """Train a small model in a dtype; return what is found of its precision, and of nan."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).to(
        dtype
    )
    optimizer = make(model.parameters())
    live = LiveWatch(["low_precision_loss", "non_finite_origin"])
    with TorchHook(run=tmp_path / "run", listeners=[live], say=lambda _: None, strict=True):
        for _ in range(4):
            x = torch.randn(16, 8)
            optimizer.zero_grad()
            logits = model(x.to(dtype))
            torch.nn.functional.cross_entropy(logits, (x[:, 0] > 0).long()).backward()
            optimizer.step()
    return [finding.condition for finding in live.findings if finding.step < 2]


class TestLostEps:
    @pytest.mark.parametrize(
        "make",
        [torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop],
        ids=lambda one: one.__name__,
    )
    def test_an_eps_that_float16_does_not_hold_is_told_before_the_nan_of_it(self, make, tmp_path):
        """The next step finds weights that are not finite."""
        first, *others = _trains(tmp_path, torch.float16, make)

        assert "lost_eps" == first
        assert others

    @pytest.mark.parametrize(
        ("dtype", "make"),
        [
            (torch.float16, partial(torch.optim.Adam, eps=1e-4)),
            (torch.float16, partial(torch.optim.SGD, lr=0.1)),
            (torch.bfloat16, torch.optim.Adam),
            (torch.float32, torch.optim.Adam),
        ],
        ids=["larger eps", "no eps", "bfloat16", "float32"],
    )
    def test_an_eps_that_is_held_is_let_be(self, dtype, make, tmp_path):
        assert [] == _trains(tmp_path, dtype, make)
