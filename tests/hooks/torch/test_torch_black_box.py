"""What the PyTorch hook puts into the black box: enough to run a step again, and no harm done."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch import LiveWatch
from stepwatch.errors import ConfigError, StepUnavailable
from stepwatch.formats.blackbox import (
    BEGIN_FRAME,
    LOSS_FRAME,
    SNAPSHOT_FRAME,
    STEP_FRAME,
    TRIGGER_FRAME,
    dump_keys,
    read_frames,
    step_records,
)
from stepwatch.hooks.torch.replay import feed
from stepwatch.hooks.torch.replay.snapshot import random_states, set_random_states
from stepwatch.store import open_store
from stepwatch.trial.recording import find_recording
from tests.support import fork_server
from tests.support.hooks.torch.trainings import TinyCNN, X, Y, fit, inputs, mlp, sgd


def frames_of(seen, *kinds):
    """Return the frames of a run that goes on."""
    seen.hook.recorder.flush()
    return [one for one in read_frames(seen.hook.recorder.store) if one.kind in kinds]


def draw():
    return random.random(), np.random.rand(), torch.rand(3).tolist()


class TestBegin:
    def test_the_batch_is_that_which_the_model_was_given(self, watched):
        """Also if the script changes it in place afterwards, as augmentation does."""
        model = mlp()
        with watched() as seen:
            for step in range(3):
                batch = torch.full((2, 4), float(step))
                model(batch).sum().backward()
                batch.zero_()
            found = [frame.arrays["batch/args/0"] for frame in frames_of(seen, BEGIN_FRAME)]

        assert [[[step] * 4] * 2 for step in range(3)] == [array.tolist() for array in found]

    def test_nested_and_keyword_inputs_have_paths(self, watched):
        """Everything that the root was called with, and no inner call."""

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(4, 1)

            def forward(self, pair, *, mask, flag=True):
                return self.inner(input=pair["x"] * mask["m"][0])

        with watched() as seen:
            Model()({"x": X}, mask={"m": [torch.ones(4)]}, flag=False).sum().backward()
            (frame,) = frames_of(seen, BEGIN_FRAME)

        names = {name for name in frame.arrays if name.startswith("batch/")}
        assert {"batch/args/0/x", "batch/kwargs/mask/m/0"} == names
        assert torch.equal(X, torch.tensor(frame.arrays["batch/args/0/x"]))

    def test_random_numbers_can_be_drawn_again(self, watched):
        """Those of torch, NumPy and Python stand where they stood before the model ran."""
        model, drawn = mlp(), []
        with watched() as seen:
            for _ in range(2):
                model(X).sum().backward()
                drawn.append(draw())
            frames = frames_of(seen, BEGIN_FRAME)
        for frame, expected in zip(frames, drawn, strict=True):
            set_random_states(frame.meta["random"], frame.arrays)
            assert expected == draw()

    def test_reading_where_random_numbers_stand_moves_none(self):
        """Not even the spare one of a normal distribution."""
        random.seed(1), np.random.seed(1), torch.manual_seed(1)
        random.gauss(0, 1), np.random.randn()
        facts, arrays = random_states()
        expected = (random.gauss(0, 1), np.random.randn(), *draw())
        set_random_states(facts, arrays)

        assert expected == (random.gauss(0, 1), np.random.randn(), *draw())

    def test_each_forward_of_a_step_is_told(self, watched):
        """With gradient accumulation there are several batches in one."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            for _ in range(2):
                for half in X.chunk(2):
                    F.mse_loss(model(half), torch.zeros(8, 1)).backward()
                optimizer.step()
            frames = frames_of(seen, BEGIN_FRAME)

        told = [(frame.mode_step, frame.meta["forward"]) for frame in frames]
        assert [(0, 0), (0, 1), (1, 0), (1, 1)] == told

    def test_evaluations_are_no_training(self, watched):
        """They have steps, but no beginning; global steps are counted over all."""
        model = mlp()
        optimizer = sgd(model)
        with watched() as seen:
            for _ in range(2):
                with torch.no_grad():
                    F.mse_loss(model(X), Y)
                fit(model, optimizer, steps=1)
            begun, losses = frames_of(seen, BEGIN_FRAME), frames_of(seen, LOSS_FRAME)
            steps = [frame.meta["step"] for frame in frames_of(seen, STEP_FRAME)]

        assert [1, 3] == [frame.meta["step"] for frame in begun]
        assert 2 == len(losses)
        assert [0, 1, 2] == steps  # the last one is held until something runs

    def test_what_is_too_large_is_told_without_its_values(self, watched):
        """A quarter of the box for one step."""
        model = nn.Linear(1 << 16, 1)
        with watched(black_box_mb=1) as seen:
            model(torch.zeros(2, 1 << 16)).sum().backward()
            (frame,) = frames_of(seen, BEGIN_FRAME)

        told = frame.meta["batch"]["batch/args/0"]
        assert ("float32", [2, 1 << 16]) == (told["dtype"], told["shape"])
        assert "524288 bytes are too many" == told["left_out"]
        assert "batch/args/0" not in frame.arrays

    def test_of_many_forwards_in_a_step_the_first_are_told(self, watched):
        """And that there were more; such a step is not run again."""
        model = mlp()
        optimizer = sgd(model)
        with watched(snapshot_every=1) as seen:
            for num_forwards in (16, 40, 1):
                sum(model(X).sum() for _ in range(num_forwards)).backward()
                optimizer.step()
            frames = frames_of(seen, BEGIN_FRAME, SNAPSHOT_FRAME)

        begun = [frame for frame in frames if frame.kind == BEGIN_FRAME]
        assert [16, 17, 1] == [sum(one.mode_step == step for one in begun) for step in range(3)]
        assert [32] == [at for at, frame in enumerate(begun) if not frame.arrays]
        for step in (0, 2):
            find_recording(frames, step).check_complete()
        with pytest.raises(StepUnavailable, match=r"step 1 .* only the first 16 forwards"):
            find_recording(frames, 1).check_complete()

    @pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
    def test_sparse_tensors_are_named_and_capturing_goes_on(self, layout, watched):
        """In a batch, and in what a loss is given."""

        class SparseLoss(nn.modules.loss._Loss):
            def forward(self, out, weights):
                return torch.sparse.mm(weights, out).sum()

        class Model(nn.Linear):
            def forward(self, x, adjacency):
                return torch.sparse.mm(adjacency, super().forward(x))

        model, eye = Model(4, 4), getattr(torch.eye(4), layout)()
        with watched() as seen:
            SparseLoss()(model(X[:4], eye), eye).backward()
            begun, loss = frames_of(seen, BEGIN_FRAME, LOSS_FRAME)

        assert layout[3:] in begun.meta["batch"]["batch/args/1"]["left_out"]
        assert layout[3:] in loss.meta["targets"]["loss/SparseLoss/1"]["left_out"]
        assert np.array_equal(X[:4].numpy(), begun.arrays["batch/args/0"])
        assert ("", 1) == (seen.end.error, seen.end.steps)

    def test_conjugated_tensors_have_their_values(self, watched):
        """Torch does not conjugate before somebody looks."""
        value = torch.tensor([1 + 2j, 3 - 1j]).conj()
        model = mlp()
        model.register_forward_pre_hook(lambda _, given: given[:1])
        with watched() as seen:
            model(X, value).sum().backward()
            (frame,) = frames_of(seen, BEGIN_FRAME)

        assert [1 - 2j, 3 + 1j] == frame.arrays["batch/args/1"].tolist()

    def test_what_is_not_initialized_is_named(self, watched):
        """A lazy module has its parameters when it has run."""
        model = nn.Sequential(nn.Linear(4, 4), nn.LazyLinear(2))
        with watched(snapshot_every=1) as seen:
            model(X).sum().backward()
            (frame,) = frames_of(seen, SNAPSHOT_FRAME)

        lazy = dict.fromkeys(("model/1.weight", "model/1.bias"), "not initialized")
        assert lazy == frame.meta["missing"]
        assert {"model/0.weight", "model/0.bias"} == set(frame.arrays)

    def test_a_box_that_fails_ends_alone(self, watched, monkeypatch, caplog):
        """Capturing goes on; one line says so."""

        def fail():
            raise RuntimeError("no states")

        monkeypatch.setattr(feed, "random_states", fail)
        with watched() as seen:
            fit(mlp(), steps=3)

        assert [True] == ["RuntimeError: no states" in line for line in caplog.messages]
        assert ("", 3) == (seen.end.error, seen.end.steps)


class TestLoss:
    @pytest.mark.parametrize(
        ("loss", "name"),
        [
            (F.mse_loss, "loss/mse_loss/1"),
            (lambda out, y: F.mse_loss(out, target=y), "loss/mse_loss/target"),
            (nn.MSELoss(), "loss/MSELoss/1"),
            (lambda out, y: nn.MSELoss()(out, target=y), "loss/MSELoss/target"),
        ],
    )
    def test_targets_are_kept(self, loss, name, watched):
        """By place or keyword, of a function or a module, once."""
        with watched() as seen:
            fit(mlp(), steps=1, loss=loss)
            (frame,) = frames_of(seen, LOSS_FRAME)

        assert [name] == list(frame.arrays)
        assert np.array_equal(Y.numpy(), frame.arrays[name])

    def test_the_losses_of_a_step_are_counted(self, watched):
        """So that each can be found again."""
        with watched() as seen:
            fit(mlp(), steps=2, loss=lambda out, y: F.mse_loss(out, y) + F.l1_loss(out, y))
            frames = frames_of(seen, LOSS_FRAME)

        told = [(frame.mode_step, frame.meta["call"], frame.meta["loss"]) for frame in frames]
        assert [
            (step, *one) for step in (0, 1) for one in ((0, "mse_loss"), (1, "l1_loss"))
        ] == told

    def test_the_target_that_breaks_the_loss_is_kept(self, watched):
        """It is looked at before the loss is."""
        with pytest.raises(IndexError), watched() as seen:
            F.cross_entropy(nn.Linear(4, 3)(X), torch.full((16,), 7))
        (frame,) = [one for one in read_frames(seen.hook.recorder.store) if one.kind == LOSS_FRAME]

        assert [7] * 16 == frame.arrays["loss/cross_entropy/1"].tolist()


class TestSnapshot:
    def test_it_is_the_state_before_the_step(self, watched):
        """Parameters, buffers and what the optimizer keeps, bit for bit."""
        model = TinyCNN()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        images, expected = inputs(4, 1, 8, 8), {}
        with watched(snapshot_every=2) as seen:
            for step in range(4):
                state = {f"model/{name}": value for name, value in model.state_dict().items()}
                for number, kept in optimizer.state_dict()["state"].items():
                    state |= {f"optimizer/0/{number}/{name}": kept[name] for name in kept}
                expected[step] = {name: value.numpy().copy() for name, value in state.items()}
                F.mse_loss(model(images), torch.zeros(4, 1)).backward()
                optimizer.step()
            frames = frames_of(seen, SNAPSHOT_FRAME)

        assert [0, 2] == [frame.mode_step for frame in frames]
        for frame in frames:
            wanted = expected[frame.mode_step]
            assert wanted.keys() == frame.arrays.keys()
            assert all(np.array_equal(wanted[name], frame.arrays[name]) for name in wanted)

    def test_settings_of_the_optimizer_are_told(self, watched):
        """With the numbers of the parameters, as its own ``state_dict`` has them."""
        model = mlp()
        groups = [{"params": [*model[0].parameters()]}, {"params": [*model[2].parameters()]}]
        optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
        with watched(snapshot_every=1) as seen:
            fit(model, optimizer, steps=2)
            frame = frames_of(seen, SNAPSHOT_FRAME)[-1]

        (told,) = frame.meta["optimizers"]
        assert "torch.optim.sgd.SGD" == told["class"]
        assert optimizer.state_dict()["param_groups"] == told["param_groups"]
        assert "optimizer/0/3/momentum_buffer" in frame.arrays

    def test_one_that_does_not_fit_is_told(self, watched):
        """With its size and the room there is."""
        with watched(snapshot_every=1, black_box_mb=1) as seen:
            nn.Linear(1 << 19, 1)(torch.zeros(1, 1 << 19)).sum().backward()
            (frame,) = frames_of(seen, SNAPSHOT_FRAME)

        assert {} == frame.arrays
        assert "2097156 bytes of state do not fit" in frame.meta["left_out"]


class TestTriggers:
    def test_a_loss_that_is_not_finite_is_caught_before_the_optimizer_steps(self, watched):
        """The state is that from which it came, and weights and gradients of the step are raw."""
        model, before = mlp(), {}

        def spoil(out, y):
            step = len(before)
            before[step] = model[0].weight.detach().numpy().copy()
            return F.mse_loss(out, y * (torch.nan if step >= 3 else 1))

        with watched() as seen:
            fit(model, steps=6, loss=spoil)
            frames = frames_of(seen, SNAPSHOT_FRAME, TRIGGER_FRAME, STEP_FRAME)
            snapshot = [frame for frame in frames if frame.kind == SNAPSHOT_FRAME]

        assert [3] == [frame.mode_step for frame in frames if frame.kind == TRIGGER_FRAME]
        assert [3] == [frame.mode_step for frame in snapshot]
        assert np.array_equal(before[3], snapshot[0].arrays["model/0.weight"])
        assert snapshot[0].meta["buffers_after_forward"]
        assert ["blackbox/worker_0/3-non-finite-loss.frames"] == dump_keys(seen.hook.recorder.store)
        raw = {
            record.step: set(record.raw) - {"sample/0"}
            for records in seen.trial.records()
            for record in records
        }
        names = [name for name, _ in model.named_parameters()]
        assert {*names, *(f"gradient/{name}" for name in names)} == raw[3]
        assert set() == raw[2] | raw[4]

    def test_a_finding_makes_the_next_step_a_closely_watched_one(self, watched):
        """Its state, its weights and gradients."""
        live = LiveWatch(["untrained_parameter"])
        model = mlp()
        with watched(listeners=[live], hold=False) as seen:
            fit(model, sgd(model[0]), steps=15, each=lambda _: seen.hook.recorder.flush())
        (finding,) = live.findings
        frames = read_frames(seen.hook.recorder.store)
        snapshots = [frame.mode_step for frame in frames if frame.kind == SNAPSHOT_FRAME]

        assert [finding.step + 1] == snapshots
        records = {record.step: record for record in step_records(frames)}
        assert "gradient/0.weight" in records[finding.step + 1].raw

    def test_an_exception_is_dumped(self, watched):
        """With the batch that the model was given last."""

        def train(model):
            fit(model, steps=2)
            model(torch.full((2, 9), 3.0))

        with pytest.raises(RuntimeError, match="shapes"), watched() as seen:
            train(mlp())
        frames = read_frames(seen.hook.recorder.store)
        last = [frame for frame in frames if frame.kind == BEGIN_FRAME][-1]

        assert [[3.0] * 9] * 2 == last.arrays["batch/args/0"].tolist()
        assert "RuntimeError: mat1 and mat2" in frames[-1].meta["error"]


class TestHook:
    def test_a_box_of_no_size_is_none(self, watched):
        """Nothing of it is there."""
        with watched(black_box_mb=0) as seen:
            fit(mlp())
            assert not (seen.run / "blackbox").exists()

        assert seen.hook.recorder.black_box is None

    def test_what_cannot_be_meant_is_refused(self, watched):
        """A size below zero."""
        with pytest.raises(ConfigError, match="must not be negative"):
            watched(black_box_mb=-1)

    @pytest.mark.parametrize("transform", ["vmap", "fake"])
    def test_tensors_that_are_none_are_let_be(self, transform, watched):
        """Inside of a transform not even the random numbers are plain."""
        model = mlp()
        with watched() as seen:
            if transform == "vmap":
                torch.func.vmap(torch.func.grad(lambda x: model(x).sum()))(X)
            else:
                with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True):
                    model(torch.empty(2, 4))
            fit(model, steps=1)
            found = frames_of(seen, BEGIN_FRAME)[-1]

        assert np.array_equal(X.numpy(), found.arrays["batch/args/0"])

    def test_a_killed_process_leaves_its_last_steps(self, tmp_path):
        """What was handed over is there: the file is the kernel's."""
        script = (
            "import os, signal, torch\n"
            "from stepwatch import TorchHook\n"
            f"hook = TorchHook(run={str(tmp_path / 'run')!r}, hold=False, say=str)\n"
            "model = torch.nn.Linear(4, 1)\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for step in range(4):\n"
            "    out = model(torch.full((2, 4), float(step)))\n"
            "    if step == 3:\n"
            "        hook.recorder.flush()\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "    out.sum().backward()\n"
            "    optimizer.step()\n"
        )
        done = fork_server.run([sys.executable, "-c", script], capture_output=True, text=True)
        store = open_store(tmp_path / "run")
        frames = read_frames(store)

        assert (-9, "") == (done.returncode, done.stderr)
        assert [0, 1, 2, 3] == [frame.mode_step for frame in frames if frame.kind == BEGIN_FRAME]
        assert [0, 1, 2] == [record.step for record in step_records(frames)]
