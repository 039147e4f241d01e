"""Memory that fills up little by little: when it is said, and what else grows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stepwatch import TorchHook
from stepwatch.trial import Trial
from tests.support.rules.made_steps import full_step, judged

GIB = 2**30
LIMIT = 80 * GIB


def steps_of(used, *, where="device", elements=lambda _: 64, looks=60):
    """Return TRAIN steps, every tenth with what is used of 80 GiB.

    Args:
        used: Returns it, of the number of the look.
        elements: Returns how many elements the batch has.
    """
    return [
        full_step(
            {
                "loop": {
                    f"loop/{where}_memory_bytes": float(used(look)),
                    f"loop/{where}_memory_limit_bytes": float(LIMIT),
                },
                "batches": {"batch": np.zeros(elements(look))},
            },
            step=10 * look,
            raw=False,
        )
        for look in range(looks)
    ]


def leak(look):
    """Fill 20 GiB, and one more at each look."""
    return (20 + look) * GIB


def creeps(*arguments, **options):
    found, _ = judged("memory_growth", steps_of(*arguments, **options))
    return [(one.condition, one.severity) for one in found]


def test_it_says_when_memory_will_be_full():
    """From when that is as near as the beginning; here it has 300 steps to go, and had 300."""
    found, _ = judged("memory_growth", steps_of(leak, looks=40))

    (one,) = found
    assert (300, "creep device") == (one.step, one.condition)
    assert 600 == one.evidence["full_at_train_step"]
    assert "at this pace 80 GiB, all there is, are full at TRAIN step 600" in one.message


@pytest.mark.parametrize(
    "used",
    [
        lambda _: 79 * GIB,
        lambda look: leak(min(look, 15)),  # a cache that is full
        lambda look: (20 + 0.1 * look) * GIB,  # that never gets far
        lambda look: (60 if look > 30 else 30) * GIB,  # a new optimizer
        lambda look: (45 + 20 * (look % 2)) * GIB,  # longer texts now and then
    ],
)
def test_what_does_not_fill_up_is_let_be(used):
    assert [] == creeps(used)


def test_larger_batches_need_more():
    assert [] == creeps(leak, elements=lambda look: 64 + 8 * look)


def test_on_the_host_it_is_news_first_and_a_warning_when_nearly_full():
    """There data are kept on purpose as well."""
    assert [("creep host", "info")] == creeps(leak, where="host", looks=32)
    assert ("creep host, nearly full", "warning") == creeps(leak, where="host")[-1]


def test_what_the_process_holds_is_saved_at_every_tenth_step(tmp_path):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with TorchHook(run=tmp_path / "run", say=lambda _: None, strict=True):
        for _ in range(21):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
    trial = Trial(tmp_path / "run")
    used, limit = (trial.tensor(f"loop/host_memory{what}_bytes") for what in ("", "_limit"))

    assert [0, 10, 20] == [*used.steps()]
    assert 0 < used.value(20) < limit.value(20)
