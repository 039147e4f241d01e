"""Train a model without a hook and, in turns, one that the real smdebug watches.

Runs under an interpreter where smdebug 1.0.34 is installed, and imports nothing of ours. Prints
JSON: the seconds of each step, or with ``alone`` what the watched training takes by itself.

    python bench/smdebug_rival.py KIND none|reductions|raw FOLDER STEPS eager|compiled|alone
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from footprint import footprint_of
from models import Training, num_compiled

import smdebug.pytorch as smd

# Compiled, its callbacks are compiled anew at each step until the compiler gives them up.
WARM_UP = 15


def reductions(folder: str) -> smd.Hook:
    """Return a hook that saves three reductions at every step, of what we do by default.

    Not ``save_all``: it takes inputs as well, and the mean of a GPT's whole numbers ends training.
    """
    return smd.Hook(
        out_dir=folder,
        include_collections=["weights", "biases", "gradients", "losses"],
        include_regex=["_output_"],
        save_config=smd.SaveConfig(save_interval=1),
        reduction_config=smd.ReductionConfig(reductions=["mean", "std"], norms=["l2"]),
    )


def raw(folder: str) -> smd.Hook:
    """Return a hook that saves weights and gradients at every tenth step."""
    return smd.Hook(
        out_dir=folder,
        include_collections=["weights", "biases", "gradients"],
        save_config=smd.SaveConfig(save_interval=10),
    )


HOOKS: dict[str, Callable[[str], smd.Hook]] = {"reductions": reductions, "raw": raw}


def take_turns(kind: str, saved: str, folder: str, steps: int, compiled: bool) -> dict[str, object]:
    """Train both in turns and return seconds of each step, and the size of what was written."""
    plain, watched = Training(kind, compiled=compiled), Training(kind, compiled=compiled)
    hook = HOOKS[saved](folder)
    hook.register_module(watched.model)
    both = {"plain": plain, "watched": watched}
    seconds: dict[str, list[float]] = {name: [] for name in both}
    compiled_before = 0
    for number in range(WARM_UP + steps):
        if number == WARM_UP:
            compiled_before = num_compiled()
        for name in list(both)[:: 1 if number % 2 else -1]:
            took = both[name].step()
            if number >= WARM_UP:
                seconds[name].append(took)
    hook.close()
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {
        **seconds,
        "size_bytes": sum(path.stat().st_size for path in files),
        "recompiled": num_compiled() - compiled_before,
    }


def alone(kind: str, saved: str, folder: str, steps: int) -> dict[str, object]:
    """Train watched, or with ``none`` not, and return the footprint."""
    training = Training(kind)
    nothing = close = lambda: None
    if saved != "none":
        hook = HOOKS[saved](folder)
        hook.register_module(training.model)
        close = hook.close
    return asdict(footprint_of(training.step, nothing, close, warm_up=WARM_UP, steps=steps))


def main() -> None:
    """Do as the arguments say and print the result."""
    kind, saved, folder, steps, how = sys.argv[1:]
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    if how == "alone":
        found = alone(kind, saved, folder, int(steps))
    else:
        found = take_turns(kind, saved, folder, int(steps), how == "compiled")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
