"""Processes that a training forks or spawns leave its run alone."""

from __future__ import annotations

import pytest

from stepwatch import Trial
from tests.support.faults.faulty_trainings import start_python

# A profile is written by its parent's clock, while a child lives too.
FORKED = """
def files():
    return {
        os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_mtime_ns
        for folder, _, names in os.walk("run") if "profile" not in folder for name in names
    }

def fork(end):
    before = files()
    child = os.fork()
    if child == 0:
        train(5)
        end()
    print("child ended by", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    settle()
    assert before == files(), "a child wrote to the run"

train(faults={20: lambda: fork(lambda: sys.exit(0)), 40: lambda: fork(lambda: os._exit(7))})
"""

LOADED = """
from torch.utils.data import DataLoader, TensorDataset

def main():
    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randn(64, 1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(
        TensorDataset(x, y), batch_size=4, shuffle=True, num_workers={workers},
        multiprocessing_context={context!r},
    )
    for epoch in range(3):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            print(epoch, loss.item(), flush=True)

if __name__ == "__main__":
    main()
"""


class TestForkedChildren:
    @pytest.mark.slow
    def test_a_child_writes_nothing_and_ends_as_it_likes(self, faulty):
        """It trains, unseen, and leaves by sys.exit or os._exit; the run goes on in its parent."""
        seen = faulty(FORKED, options=("--budget", "none"))  # each step has phases

        seen.assert_unharmed()
        assert ("finished", list(range(60))) == (seen.trial.state, seen.trial.steps())
        assert list(range(60)) == seen.trial.profile.steps()["step"].to_pylist()
        assert [] == seen.shown("lost")

    @pytest.mark.slow
    def test_a_child_that_inherits_a_hook_does_not_close_it(self, tmp_path):
        """Python closes at its end, in a child too, what nobody closed."""
        hooked = "from stepwatch import TorchHook\nhook = TorchHook(run='run')\n"
        ended = start_python(hooked + FORKED, tmp_path)()

        assert (0, "") == (ended.status, told_by_others(ended))
        trial = Trial(tmp_path / "run")
        assert ("finished", list(range(60))) == (trial.state, trial.steps())


class TestDataLoader:
    @pytest.mark.slow
    @pytest.mark.parametrize(("context", "workers"), [("fork", 2), ("spawn", 1)])
    def test_its_workers_are_as_ever(self, faulty, context, workers):
        """The same batches in the same order, and only the training is seen."""
        seen = faulty(LOADED.format(context=context, workers=workers))

        seen.assert_unharmed()
        assert ("finished", 48) == (seen.trial.state, len(seen.trial.steps()))
        assert 48 == len(seen.watched.output.splitlines())


def told_by_others(ended):
    lines = ended.told.splitlines()
    return "\n".join(line for line in lines if not line.startswith("stepwatch: capturing "))
