"""Numbers that functions read by name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stepwatch.hooks.frozen_numbers import FrozenNumbers, numbers_read

SETTINGS = SimpleNamespace(rate=0.1, name="adam")
TABLE = {"loss": {"weight": 2.0}}


def helper(x):
    return x * SETTINGS.rate


def by_attribute(x):
    return x * SETTINGS.rate


def by_entry(x):
    return x * TABLE["loss"]["weight"]


def by_helper(x):
    def inner(y):
        return helper(y)

    return inner(x)


def by_name_of_method(x):
    return x.rate + len(SETTINGS.name)


class Model:
    decay = 0.5

    def __init__(self):
        self.beta, self.count = 0.0, 0

    def penalty(self, x):
        return self.beta * x

    def step(self, x):
        self.count += 1
        return self.penalty(x) * self.decay


def by_closure(rate=0.3):
    def step(x):
        return x * rate

    return step


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (by_attribute, {"SETTINGS.rate": 0.1}),
        (by_entry, {"TABLE.loss.weight": 2.0}),
        (by_helper, {"SETTINGS.rate": 0.1}),
        (by_name_of_method, {}),
        (Model().step, {"Model.beta": 0.0, "Model.decay": 0.5}),
        (by_closure(), {"rate": 0.3}),
        (len, {}),
    ],
    ids=["attribute", "entry", "helper", "of an argument", "method", "closure", "no script"],
)
def test_numbers_from_outside_of_a_function_are_known(function, expected):
    """Whatever it sets itself is left out, as a count of its own calls."""
    assert expected == numbers_read(function)


def test_a_number_set_after_tracing_is_reported():
    model, frozen = Model(), FrozenNumbers()
    frozen.traced(model, model.step)
    assert [] == frozen.changed(model, model.step)

    model.beta = 0.2
    assert ["Model.beta"] == frozen.changed(model, model.step)


def test_another_function_of_the_same_name_is_not_compared_with_the_first():
    """As in a sweep that makes its step anew for each rate."""
    first, second, frozen = by_closure(), by_closure(0.1), FrozenNumbers()
    frozen.traced(first, first)

    assert second not in frozen
    assert [] == frozen.changed(second, second)
