"""Which loops of a script are over epochs, and what stands in each of their turns."""

from __future__ import annotations

import pytest

from stepwatch.hooks.epoch_loops import is_in_every_epoch

SCRIPTS = {
    "for epoch in range(2):\n    {here}": True,
    "for _ in range(NUM_EPOCHS):\n    {here}": True,
    "for e in range(2):\n    for _ in [0]: pass\n    {here}": True,
    "n_epoch = 0\nwhile n_epoch < 2:\n    {here}\n    n_epoch += 1": True,
    "def train(n):\n    {here}\nfor epoch in range(2):\n    train(\n        epoch\n    )": True,
    "for fold in range(2):\n    {here}\n    for epoch in range(2): pass": False,
    "for epoch in range(2):\n    for task in range(2):\n        {here}": False,
    "for epoch in range(2):\n    if epoch == 1:\n        {here}": False,
    "def train(n):\n    if n:\n        {here}\nfor epoch in range(2):\n    train(n=epoch)": False,
    "for epoch in [{here}]:\n    pass": False,
    "def make():\n    {here}\nmake()": False,
    "for epoch in [0]:\n    def make():\n        {here}\nfor other in [0]:\n    make()": False,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_each_epoch_does_is_known_from_the_script(script, tmp_path):
    """By the innermost loop that leads there, with no condition in between."""
    file = tmp_path / "script.py"
    file.write_text(script.format(here="seen.append(is_in_every_epoch())"))
    seen: list[bool] = []
    names = {"seen": seen, "is_in_every_epoch": is_in_every_epoch, "NUM_EPOCHS": 2}

    exec(compile(file.read_text(), str(file), "exec"), names)

    assert {SCRIPTS[script]} == set(seen)
