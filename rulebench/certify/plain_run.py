"""Runs a script as ``python script`` does, and ends it once an optimizer has stepped so often."""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook


def main(script: str, steps: int) -> None:
    """Run a script.

    Args:
        script: Its path.
        steps: How often the optimizer steps that steps first; the script ends after that.
    """
    first: Optimizer | None = None
    left = steps

    def stepped(optimizer: Optimizer, *_: Any) -> None:
        nonlocal first, left
        first = first or optimizer
        left -= optimizer is first
        if not left:
            os._exit(0)  # neither threads nor worker processes of a loader are waited for

    register_optimizer_step_post_hook(stepped)
    sys.argv = [script]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
