"""What the real smdebug writes, our Trial reads as the real one does."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch import Trial
from tests.support.treaty.real_smdebug import ANSWERS, TOLD, ask, told

pytestmark = pytest.mark.treaty

# Trains a small net twice, with modes and everything raw, and with reductions and shapes.
TRAIN = (
    TOLD
    + """
import os, torch
import smdebug.pytorch as smd

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)
        self.act = torch.nn.ReLU()
        self.out = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.act(self.fc(x)))

def train(hook):
    torch.manual_seed(0)
    net, loss = Net(), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    hook.register_module(net)
    hook.register_loss(loss)
    for mode, steps in ((smd.modes.TRAIN, 5), (smd.modes.EVAL, 2), (smd.modes.TRAIN, 2)):
        hook.set_mode(mode)
        for _ in range(steps):
            optimizer.zero_grad()
            loss(net(torch.randn(2, 3)), torch.randint(0, 2, (2,))).backward()
            optimizer.step()
    hook.close()
    smd.del_hook()

every = smd.SaveConfig(save_interval=2)
train(smd.Hook(out_dir=sys.argv[1] + "/raw", save_config=every, save_all=True))
reductions = smd.ReductionConfig(
    reductions=["min", "max", "mean", "sum"], norms=["l1", "l2"], abs_reductions=["mean"],
    save_shape=True,
)
train(smd.Hook(out_dir=sys.argv[1] + "/reduced", save_config=every,
    include_collections=["weights", "gradients"], reduction_config=reductions))
print("null")
"""
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs that the real hook wrote, and what the real Trial says of them."""
    folder = tmp_path_factory.mktemp("real")
    ask(TRAIN, folder)
    names = ("raw", "reduced")
    answers = ask(ANSWERS, *(folder / name for name in names))
    return {name: (folder / name, one) for name, one in zip(names, answers, strict=True)}


class TestWeRead:
    @pytest.mark.parametrize("run", ["raw", "reduced"])
    def test_the_steps_of_every_mode(self, runs, run):
        """Each mode's own, and the global ones."""
        path, answer = runs[run]
        trial = Trial(path)

        assert answer["steps"] == {mode: trial.steps(mode) for mode in answer["steps"]}

    def test_every_value(self, runs):
        """Of every tensor at every step, to the bit."""
        path, answer = runs["raw"]
        trial = Trial(path)
        found = {}
        for where in answer["tensors"]:
            name, step, worker = where.rsplit(" ", 2)
            found[where] = told(trial.tensor(name).value(int(step), worker=worker))

        assert {where: one["value"] for where, one in answer["tensors"].items()} == found

    def test_reductions_as_statistics(self, runs):
        """What was saved of a tensor is what its statistics say."""
        path, answer = runs["reduced"]
        trial = Trial(path)
        for where, one in answer["tensors"].items():
            name, step, _ = where.rsplit(" ", 2)
            if not one["reductions"]:
                continue
            series = trial.tensor(name).statistics()
            row = list(series.steps).index(int(step))
            for ours in ("min", "max", "mean", "sum", "l1", "l2", "abs_mean"):
                expected = float(one["reductions"][ours][2][0])
                np.testing.assert_allclose(series[ours][row], expected, rtol=1e-6)
