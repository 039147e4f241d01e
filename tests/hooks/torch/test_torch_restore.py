"""What a snapshot holds is put back, or refused."""

from __future__ import annotations

import pytest
import torch

from stepwatch.errors import StepUnavailable
from stepwatch.formats.blackbox import Frame
from stepwatch.hooks.torch.replay.restore import Restorer
from stepwatch.hooks.torch.replay.snapshot import optimizer_state


def one_parameter():
    """Return an optimizer of one parameter, and the parameter."""
    parameter = torch.nn.Parameter(torch.ones(2))
    return torch.optim.SGD([parameter], lr=0.1), parameter


class TestOptimizer:
    def test_state_that_no_snapshot_holds_is_refused(self):
        """The optimizer never gets a placeholder in its stead."""
        optimizer, parameter = one_parameter()
        optimizer.state[parameter] = {"steps": 3, "seen": {torch.float32}}
        facts, tensors = optimizer_state(0, optimizer)
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        restorer = Restorer(Frame("snapshot", "worker_0", {"optimizers": [facts]}, arrays))
        again, other = one_parameter()

        with pytest.raises(StepUnavailable, match="SGD keeps seen, which cannot be put back"):
            restorer.restore_optimizer(again, [again])
        assert "seen" not in again.state[other]
