"""``stepwatch certify``: the first steps of a script under changes that must not matter."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from xml.etree import ElementTree

import pytest

from stepwatch.cli.certify_runs import copy_folder
from tests.support.cli.commands import STEPWATCH, call

HEALTHY = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(128, 6), torch.randint(3, (128,)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.value, self.head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 3)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        gate = torch.softmax(self.gate(x), dim=1)
        return self.head(self.drop(gate * self.value(x)))

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(9):
    model.train()
    for number, (x, y) in enumerate(DataLoader(data, batch_size=16, shuffle=True)):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=32):
            model(x)
    open("log", "a").write("epoch")
"""
ACCUMULATES = (
    "        loss.backward()\n        optimizer.step()\n        optimizer.zero_grad()\n",
    "        (loss / 2).backward()\n        if number % 2:\n            optimizer.step()\n"
    "            optimizer.zero_grad()\n",
)


def certify(folder, text, *options):
    (folder / "train.py").write_text(text)
    done = call(
        STEPWATCH, "certify", "--steps", "6", "--json", *options, "train.py",
        cwd=folder, start=subprocess.run,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, {one["relation"]: one for one in json.loads(done.stdout)["relations"]}


def outcomes(results):
    return {name: one["outcome"] for name, one in results.items()}


@pytest.mark.slow
class TestCertify:
    def test_a_healthy_script_breaks_nothing_and_its_folder_stays_as_it_was(self, tmp_path):
        """What does not apply says why; the script's own files are not written."""
        status, found = certify(tmp_path, HEALTHY, "--junit", "certify.xml")
        suite = ElementTree.parse(tmp_path / "certify.xml").getroot()

        assert 0 == status
        assert {"breaks"}.isdisjoint(outcomes(found).values()), found
        assert {"permuted-batch", "rows-apart", "evaluation-twice", "accumulation"} <= {
            name for name, one in found.items() if one["outcome"] == "holds"
        }, found
        assert "no activations are checkpointed" == found["checkpointed"]["why"]
        assert {"train.py", "certify.xml"} == {path.name for path in tmp_path.iterdir()}
        assert ("13", "0") == (suite.get("tests"), suite.get("failures"))

    def test_a_softmax_over_the_batch_is_named_by_the_module_that_follows(self, tmp_path):
        """The first tensor that differs is the output of what the softmax was given to."""
        text = HEALTHY.replace("dim=1", "dim=0")
        status, found = certify(tmp_path, text, "--only", "rows-apart", "--only", "permuted-batch")

        assert (1, "holds") == (status, found["permuted-batch"]["outcome"])
        assert ("TRAIN", 0, "output/drop") == tuple(
            found["rows-apart"][key] for key in ("mode", "mode_step", "tensor")
        )

    def test_as_many_columns_as_rows_are_no_pairs_of_rows(self, tmp_path):
        """A model that returns as many columns as a batch has rows, by a product by hand."""
        text = (
            "import torch\n"
            "torch.manual_seed(0)\n"
            "weight = torch.nn.Parameter(torch.randn(16, 16) / 4)\n"
            "class Net(torch.nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.weight, self.last = weight, torch.nn.Linear(16, 16)\n"
            "    def forward(self, x):\n"
            "        return self.last(torch.tanh(x @ self.weight.T))\n"
            "model, data = Net(), torch.randn(64, 16)\n"
            "optimizer = torch.optim.Adam(model.parameters())\n"
            "for _ in range(5):\n"
            "    for x in torch.utils.data.DataLoader(data, batch_size=16):\n"
            "        optimizer.zero_grad()\n"
            "        torch.nn.functional.mse_loss(model(x), x).backward()\n"
            "        optimizer.step()\n"
        )
        status, found = certify(tmp_path, text, "--only", "permuted-batch", "--only", "rows-apart")

        assert status == 0
        assert {"permuted-batch": "holds", "rows-apart": "holds"} == outcomes(found)

    def test_dropout_in_evaluation_is_found(self, tmp_path):
        """Functional dropout is active unless it is told otherwise."""
        text = HEALTHY.replace("self.drop(gate", "nn.functional.dropout(gate")
        status, found = certify(tmp_path, text, "--only", "evaluation-twice")

        assert (1, "breaks") == (status, found["evaluation-twice"]["outcome"])
        assert "dropout is active" in found["evaluation-twice"]["why"]

    def test_a_compiled_model_that_is_evaluated_twice_gives_the_same(self, tmp_path):
        """What its graph observes of each batch belongs to that batch alone."""
        compiled = "model = torch.compile(model, backend='aot_eager')\nfor epoch in"
        text = HEALTHY.replace("for epoch in", compiled)
        status, found = certify(tmp_path, text, "--only", "evaluation-twice")

        assert (0, "holds") == (status, found["evaluation-twice"]["outcome"]), found

    def test_a_schedule_does_not_step_between_the_halves_of_a_batch(self, tmp_path):
        """A scheduler of torch wraps the step of its optimizer, which waits for both halves."""
        made = "optimizer = torch.optim.Adam(model.parameters(), lr=0.01)\n"
        schedule = "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)\n"
        text = HEALTHY.replace(made, made + schedule).replace("Dropout(0.1)", "Identity()")
        _, found = certify(tmp_path, text, "--only", "accumulation")

        assert ("holds", "") == (found["accumulation"]["outcome"], found["accumulation"]["why"])

    def test_batches_may_be_fetched_ahead_of_those_that_are_trained_on(self, tmp_path):
        """As trainers do, to know which is the last: a half is known by its own backward."""
        ahead = (
            "def ahead(batches):\n    held = None\n    for batch in batches:\n"
            "        if held is not None:\n            yield held\n        held = batch\n"
            "    yield held\n\nfor epoch"
        )
        text = HEALTHY.replace("for epoch", ahead, 1).replace("Dropout(0.1)", "Identity()")
        loader = "DataLoader(data, batch_size=16, shuffle=True)"
        text = text.replace(loader, f"ahead({loader})")
        _, found = certify(tmp_path, text, "--only", "accumulation")

        assert ("holds", "") == (found["accumulation"]["outcome"], found["accumulation"]["why"])

    def test_the_lengths_and_places_of_a_packed_sequence_are_no_values_of_rows(self, tmp_path):
        """Of two halves there are two of them, which says nothing of the rows."""
        packs = (
            "        lengths = torch.full((len(x),), 3)\n"
            "        each = x.view(-1, 3, 2)\n"
            "        rows = nn.utils.rnn.pack_padded_sequence(each, lengths, True, False)\n"
            "        h = self.rnn(rows)[1][0]\n"
            "        gate = torch.softmax(self.gate(h), dim=1)\n"
        )
        text = HEALTHY.replace("        gate = torch.softmax(self.gate(x), dim=1)\n", packs)
        text = text.replace(
            "nn.Dropout(0.1)", "nn.Identity(); self.rnn = nn.GRU(2, 6, batch_first=True)"
        )
        _, found = certify(tmp_path, text, "--only", "rows-apart")

        assert ("holds", "") == (found["rows-apart"]["outcome"], found["rows-apart"]["why"])

    def test_sums_that_half_precision_rounds_in_another_order_are_no_fault(self, tmp_path):
        """A script that casts is judged without; whether casting matters, `autocast` says."""
        line = "        loss = nn.functional.cross_entropy(model(x), y)\n"
        cast = "        with torch.autocast('cpu', dtype=torch.bfloat16):\n    "
        text = HEALTHY.replace(line, cast + line).replace("Dropout(0.1)", "LayerNorm(8)")
        names = ("permuted-batch", "rows-apart", "accumulation", "autocast")
        _, found = certify(tmp_path, text, *(part for name in names for part in ("--only", name)))

        assert dict.fromkeys(names, "holds") == {
            name: one["outcome"] for name, one in found.items()
        }

    @pytest.mark.parametrize(("divided", "outcome"), [("(loss / 2)", "holds"), ("loss", "breaks")])
    def test_accumulated_losses_must_be_divided(self, tmp_path, divided, outcome):
        """Two micro-batches as one batch give the gradient of its mean."""
        text = HEALTHY.replace(ACCUMULATES[0], ACCUMULATES[1].replace("(loss / 2)", divided))
        _, found = certify(tmp_path, text, "--only", "accumulation")

        assert outcome == found["accumulation"]["outcome"], found

    @pytest.mark.parametrize(("loaded", "outcome"), [("both", "holds"), ("weights", "breaks")])
    def test_a_resumed_training_needs_the_state_of_its_optimizer(self, tmp_path, loaded, outcome):
        """The script is started again in the folder in which it was stopped."""
        text = HEALTHY.replace(
            "for epoch",
            "import os\n"
            "if os.path.exists('last.pt'):\n"
            "    states = torch.load('last.pt')\n"
            "    model.load_state_dict(states[0])\n"
            f"    if '{loaded}' == 'both':\n"
            "        optimizer.load_state_dict(states[1])\n"
            "for epoch",
        ).replace(
            "    open(",
            "    torch.save([model.state_dict(), optimizer.state_dict()], 'last.pt')\n    open(",
        )
        _, found = certify(tmp_path, text, "--only", "resumed")

        assert outcome == found["resumed"]["outcome"], found
        if outcome == "breaks":
            assert "exp_avg" in found["resumed"]["why"] or "step" in found["resumed"]["why"]

    def test_a_script_that_draws_its_data_anew_is_not_judged(self, tmp_path):
        """Two runs of the script itself part, and that is what is told."""
        text = HEALTHY.replace("manual_seed(0)", "manual_seed(__import__('time').time_ns())")
        status, found = certify(tmp_path, text, "--only", "rows-apart")

        assert (0, "does not apply") == (status, found["rows-apart"]["outcome"])
        assert "two runs of the script itself part" in found["rows-apart"]["why"]


class TestNames:
    def test_the_command_knows_every_relation_of_torch(self):
        """The help and the check of --only import no torch."""
        from stepwatch.cli.certify import NAMES
        from stepwatch.cli.certify_runs import all_relations

        assert set(all_relations()) == set(NAMES)


class TestErrors:
    @pytest.mark.slow
    def test_a_script_that_fails_is_told_in_one_line(self, refused, tmp_path):
        """There is nothing to certify."""
        (tmp_path / "train.py").write_text("import torch\n1 / 0\n")
        assert "ZeroDivisionError" in refused("certify", "train.py")

    def test_a_relation_that_is_not_known_is_refused(self, refused, tmp_path):
        """The nearest one is named."""
        (tmp_path / "train.py").write_text("")
        assert "rows-apart" in refused("certify", "--only", "row-apart", "train.py")

    def test_what_is_no_file_is_left_out_of_the_copies_of_a_folder(self, tmp_path):
        """As the socket of a browser that runs there."""
        folder = tmp_path / "folder"
        folder.mkdir()
        (folder / "train.py").write_text("")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(folder / "socket"))
            copy_folder(folder, tmp_path / "copy")

        assert ["train.py"] == os.listdir(tmp_path / "copy")
