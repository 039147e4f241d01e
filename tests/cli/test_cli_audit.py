"""``stepwatch audit``: what is wrong with the tensors of a checkpoint."""

from __future__ import annotations

import io
import itertools
import json
import pickle
import tempfile

import numpy as np
import pytest
import torch
from safetensors.torch import save, save_file

from stepwatch import TorchHook
from stepwatch.store import open_store
from tests.support.cli.commands import STEPWATCH, call
from tests.support.rules.resume_programs import Net, adam, train

_numbers = itertools.count()


def audited(verb, *arguments):
    """Return the exit status of an audit and what it says as JSON."""
    status, out, _ = verb("audit", *arguments, "--json")
    return status, json.loads(out)


def kinds(document):
    return [(one["severity"], one["kind"], one["tensors"]) for one in document["problems"]]


class TestTensors:
    @pytest.mark.parametrize("suffix", ["pt", "safetensors"])
    def test_a_sound_checkpoint_has_nothing_wrong(self, tmp_path, verb, suffix):
        """Also with biases of zero, a zero LoRA, a mask, padding rows and a table's first row."""
        torch.manual_seed(0)
        table = torch.randn(10, 4)
        table[0] = 0
        padded = torch.cat([torch.randn(6, 4), torch.zeros(2, 4)])
        tensors = {
            "fc.weight": torch.randn(4, 4).to(torch.bfloat16),
            "fc.bias": torch.zeros(4, dtype=torch.bfloat16),
            "lora_B.weight": torch.zeros(4, 2, dtype=torch.bfloat16),
            "embedding.weight": table.to(torch.bfloat16),
            "padded.weight": padded.to(torch.bfloat16),
            "mask": torch.full((3, 3), -torch.inf).triu(1).to(torch.bfloat16),
            "best": torch.tensor(torch.inf, dtype=torch.bfloat16),
        }
        path = tmp_path / f"model.{suffix}"
        torch.save(tensors, path) if suffix == "pt" else save_file(tensors, path)
        status, document = audited(verb, path)

        assert (0, {"info"}) == (status, {one[0] for one in kinds(document)})
        assert 7 == document["parts"][0]["tensors"]

    def test_values_that_are_not_finite_are_counted(self, tmp_path, verb):
        """By tensor, in weights and in moments."""
        model = Net()
        optimizer = adam(model)
        train(model, optimizer, steps=2)
        with torch.no_grad():
            model.head.weight[1, :3] = torch.nan
        optimizer.state[model.head.bias]["exp_avg_sq"][0] = torch.inf
        kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(kept, tmp_path / "kept.pt")
        status, document = audited(verb, tmp_path / "kept.pt")

        assert 1 == status
        first, second = kinds(document)
        assert ("error", "non_finite", ["head.weight"]) == first
        assert ("error", "non_finite", ["5/exp_avg_sq"]) == second
        assert "3 nan values" in document["problems"][0]["message"]

    def test_dead_rows_and_stale_moments_are_warnings(self, tmp_path, verb):
        """Units that always give the same, and parameters that never had a gradient."""
        model = Net()
        optimizer = adam(model)
        train(model, optimizer, steps=2)
        with torch.no_grad():
            model.body[0].weight[3:5] = 0
        state = optimizer.state[model.head.weight]
        state["exp_avg"].zero_(), state["exp_avg_sq"].zero_()
        torch.save({"m": model.state_dict(), "o": optimizer.state_dict()}, tmp_path / "kept.pth")
        status, document = audited(verb, tmp_path / "kept.pth")

        assert 1 == status
        assert [
            ("warning", "dead_rows", ["body.0.weight"]),
            ("warning", "moments", ["4"]),
        ] == kinds(document)

    def test_keras_files_are_read(self, tmp_path, verb):
        """Units lie along the last axis there."""
        h5py = pytest.importorskip("h5py")
        kernel = np.ones((3, 4), np.float32)
        kernel[:, 1] = 0
        with h5py.File(tmp_path / "model.weights.h5", "w") as file:
            file["layers/dense/vars/0"] = kernel
        status, document = audited(verb, tmp_path / "model.weights.h5")

        assert (1, [("warning", "dead_rows", ["layers/dense/vars/0"])]) == (
            status,
            kinds(document),
        )


class TestRun:
    def test_weights_are_compared_with_those_that_the_run_saved(self, tmp_path, verb):
        """Equal ones name their step; of others it is said how many differ."""
        model = Net()
        with TorchHook(run=tmp_path / "run", say=lambda line: None, strict=True):
            train(model, adam(model), steps=3)
            torch.save(model.state_dict(), tmp_path / "kept.pt")
        status, document = audited(verb, tmp_path / "kept.pt", "--run", tmp_path / "run")
        assert (0, 3) == (status, document["parts"][0]["saved"]["steps"])

        # the same weights in another file
        save_file(model.state_dict(), tmp_path / "kept.safetensors")
        assert 0 == audited(verb, tmp_path / "kept.safetensors", "--run", tmp_path / "run")[0]

        with torch.no_grad():
            model.head.bias[0] += 1
        torch.save(model.state_dict(), tmp_path / "kept.pt")
        status, document = audited(verb, tmp_path / "kept.pt", "--run", tmp_path / "run")
        assert (1, [("warning", "changed", ["head.bias"])]) == (status, kinds(document))


class Shell:
    """What is run when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code of the file was run')",)


class TestErrors:
    """One line each, and the exit status 2."""

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("missing.pt", "there is no checkpoint at"),
            ("empty", "no checkpoint in"),
            ("cut.pt", "cut off"),
            ("cut.safetensors", "cut off"),
            ("code.pt", "would run code from the file"),
            ("plain.pt", "would run code from the file"),
            ("notes.txt", "is no checkpoint by its name"),
            ("sharded", "is not there"),
        ],
    )
    def test_what_cannot_be_read_is_said_in_one_line(self, tmp_path, refused, name, words):
        (tmp_path / "empty").mkdir()
        torch.save({"w": torch.ones(1000)}, tmp_path / "whole.pt")
        save_file({"w": torch.ones(1000)}, tmp_path / "whole.safetensors")
        for suffix in ("pt", "safetensors"):
            whole = (tmp_path / f"whole.{suffix}").read_bytes()
            (tmp_path / f"cut.{suffix}").write_bytes(whole[:-500])
        torch.save({"w": torch.ones(2), "x": Shell()}, tmp_path / "code.pt")
        (tmp_path / "plain.pt").write_bytes(pickle.dumps(Shell()))
        (tmp_path / "notes.txt").write_text("notes")
        (tmp_path / "sharded").mkdir()
        index = {"weight_map": {"w": "model-00001-of-00002.safetensors"}}
        (tmp_path / "sharded" / "model.safetensors.index.json").write_text(json.dumps(index))

        assert words in refused("audit", str(tmp_path / name))

    def test_no_run(self, tmp_path, refused):
        torch.save({"w": torch.ones(2, 2)}, tmp_path / "w.pt")
        assert "no run at" in refused("audit", str(tmp_path / "w.pt"), "--run", str(tmp_path / "r"))


def test_a_folder_of_transformers_is_read_as_a_whole(tmp_path, verb):
    """Shards are one model; what is no weights is passed over."""
    save_file({"a.weight": torch.ones(2, 2)}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({"b.weight": torch.ones(2, 2)}, tmp_path / "model-00002-of-00002.safetensors")
    index = {
        "weight_map": {
            "a.weight": "model-00001-of-00002.safetensors",
            "b.weight": "model-00002-of-00002.safetensors",
        }
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "training_args.bin").write_bytes(b"no weights")
    status, document = audited(verb, tmp_path)

    assert (0, [2]) == (status, [one["tensors"] for one in document["parts"]])


KILLED = """
import os, signal, sys
import torch
from torch.nn.functional import mse_loss

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
if os.path.exists("kept.pt"):
    kept = torch.load("kept.pt")
    model.load_state_dict(kept["model"])
    if "all" in sys.argv:
        optimizer.load_state_dict(kept["optimizer"])
for step in range(12):
    optimizer.zero_grad()
    mse_loss(model(torch.randn(8, 4)), torch.zeros(8, 1)).backward()
    optimizer.step()
    if step == 9 and "kill" in sys.argv:
        kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(kept, "kept.pt")
        import time; time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_training_that_was_killed_and_goes_on_without_its_optimizer(tmp_path):
    """Saved, killed, resumed: the second run knows the first by what was saved."""
    (tmp_path / "train.py").write_text(KILLED)
    options = ("run", "--rules", "resume", "--quiet", "--run")
    first = call(STEPWATCH, *options, "runs/one", "train.py", "kill", cwd=tmp_path)
    wrong = call(STEPWATCH, *options, "runs/two", "train.py", cwd=tmp_path)
    right = call(STEPWATCH, *options, "runs/three", "train.py", "all", cwd=tmp_path)
    known = call(STEPWATCH, "audit", "kept.pt", "--run", "runs/one", cwd=tmp_path)

    assert first.returncode < 0
    assert "saved after 10 TRAIN steps of one" in wrong.stderr
    assert "resume" not in right.stderr
    assert (0, True) == (known.returncode, "after 10 TRAIN steps" in known.stdout), known.stderr


class TestObjectStorage:
    """What lies in a store is found there, by its URL."""

    @pytest.fixture
    def store(self):
        return open_store(f"memory://audit-{next(_numbers)}/kept")

    def put(self, store, key, tensors):
        content = io.BytesIO()
        torch.save(tensors, content)
        store.put(key, content.getvalue())

    def test_a_file_is_read_by_its_url(self, store, verb):
        self.put(store, "last.pt", {"head.weight": torch.full((2, 2), torch.nan)})
        status, document = audited(verb, f"{store.url}/last.pt")

        assert (1, [f"{store.url}/last.pt"]) == (
            status, [one["file"] for one in document["parts"]]
        )  # fmt: skip
        assert [("error", "non_finite", ["head.weight"])] == kinds(document)
        assert f"{store.url}/last.pt: 4 nan" in document["problems"][0]["message"]

    def test_a_folder_is_read_as_one_on_this_machine(self, store, verb):
        """Each checkpoint in it and below, and nothing else."""
        self.put(store, "first.pt", {"w": torch.randn(2, 2)})
        self.put(store, "step-9/model.bin", {"w": torch.randn(2, 2)})
        store.put("step-9/trainer_state.json", b"{}")
        store.put("step-9/rng_state.pth", b"no tensors")
        status, document = audited(verb, f"{store.url}/")

        assert 0 == status
        assert [f"{store.url}/first.pt", f"{store.url}/step-9/model.bin"] == sorted(
            one["file"] for one in document["parts"]
        )

    @pytest.mark.parametrize("asked", ["", "/model.safetensors.index.json"])
    def test_an_index_is_read_with_the_files_that_it_names(self, store, verb, asked):
        for number in (1, 2):
            shard = save({f"w{number}": torch.randn(2, 2)})
            store.put(f"model-{number}.safetensors", shard)
        index = {"weight_map": {f"w{number}": f"model-{number}.safetensors" for number in (1, 2)}}
        store.put("model.safetensors.index.json", json.dumps(index).encode())
        status, document = audited(verb, f"{store.url}{asked}")

        assert (0, [2]) == (status, [one["tensors"] for one in document["parts"]])

    @pytest.mark.parametrize("asked", ["last.pt", "none", ""])
    def test_what_is_not_there_is_said_once_it_was_looked_for(self, store, verb, asked):
        status, _, told = verb("audit", f"{store.url}/{asked}")

        assert 2 == status
        assert f"there is no checkpoint at {store.url}" in told

    def test_what_is_damaged_is_named_by_its_url(self, store, verb):
        store.put("model.safetensors", save({"w": torch.randn(9, 9)})[:-7])
        status, _, told = verb("audit", f"{store.url}/model.safetensors")

        assert 2 == status
        assert f"{store.url}/model.safetensors is cut off" in told
        assert tempfile.gettempdir() not in told
