"""``stepwatch prove`` and ``blame``: what made a step go wrong, shown by running it again."""

from __future__ import annotations

import json

import pytest

from stepwatch import Trial
from stepwatch.formats.blackbox import read_frames
from stepwatch.formats.findings import parse_findings
from stepwatch.formats.proofs import read_proofs
from tests.support.cli.commands import STEPWATCH, call

BAD_ROW = 77
SCRIPT = """\
import sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
kind = sys.argv[1]
x = torch.randn(256, 8)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
if kind in ("nan", "lists"):
    x[77, 3] = torch.nan
if kind == "large":
    x[77] *= 1e4
if kind == "label":
    y[77] = (y[77] + 2) % 3
if kind == "sorted":
    x, y = x[y.argsort()], y.sort().values
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5.0 if kind == "rate" else 0.01)
generator = torch.Generator().manual_seed(3)

def ahead(batches):
    batches = iter(batches)
    now = next(batches)
    for later in batches:
        yield now
        now = later
    yield now

class Lists(TensorDataset):
    def __getitem__(self, index):
        inputs, target = super().__getitem__(index)
        return {"inputs": inputs.tolist(), "target": target.item()}

def as_tensors(rows):
    columns = ([row[name] for row in rows] for name in ("inputs", "target"))
    return [torch.tensor(column) for column in columns]

workers = 2 if kind == "workers" else 0
step = 0
for epoch in range({"label": 12, "large": 12, "sorted": 8, "shifted": 14}.get(kind, 2)):
    data, mixed = TensorDataset(x, y), kind != "sorted"
    options = {"generator": generator, "num_workers": workers}
    if kind == "lists":
        data, options["collate_fn"] = Lists(x, y), as_tensors
    batches = DataLoader(data, 16, mixed, **options)
    for inputs, targets in ahead(batches) if kind == "ahead" else batches:
        optimizer.zero_grad()
        if kind == "shifted":
            targets = targets.roll(1)
        outputs = model(inputs)
        if kind == "unknown" and step == 20:
            outputs = outputs * torch.inf  # in the replay it is another step that has this number
        loss = nn.functional.cross_entropy(outputs, targets)
        loss.backward()
        if kind == "flip" and step == 20:
            bits = model[0].weight.detach().view(torch.int32).view(-1)
            bits[7] ^= 1 << 30
        optimizer.step()
        step += 1
"""

SETTINGS = """\
import sys, torch
from torch import nn

torch.manual_seed(0)
kind = sys.argv[1]
inputs = torch.randn(1600, 8) * (100 if kind == "raw" else 1)
targets = (inputs[:, :1] + torch.sin(inputs[:, 1:2])) / (100 if kind == "raw" else 1)
if kind == "column":
    inputs[:, 5:6] = targets
between = nn.ReLU() if kind == "raw" else nn.Tanh()


class Masked(nn.Sequential):
    def forward(self, x):
        return super().forward(x) + torch.where(x[:, :1] > 1, -torch.inf, 0.0)


kind_of_model = Masked if kind == "masked" else nn.Sequential
model = kind_of_model(nn.Linear(8, 32), between, nn.Linear(32, 1))
rate = {"slow": 1e-9, "zero": 0.0, "later": 1e-4}.get(kind, 0.05)
if kind == "epsilon":
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e4)
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
cosine = {"four times": 130, "wraps": 40}.get(kind)
if cosine:
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cosine)
if kind == "stands still":
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=30)
    schedule = torch.optim.lr_scheduler.SequentialLR(
        optimizer, [warm_up, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999)], [30]
    )
for step in range(130):
    rows = torch.randint(0, 1600, (16,))
    if kind == "jump" and step == 60:
        optimizer.param_groups[0]["lr"] *= 100
    optimizer.zero_grad()
    outputs = model(inputs[rows])
    size = 100 if kind == "later" and step >= 100 else 1
    loss = nn.functional.mse_loss(outputs, size * targets[rows])
    if kind == "sqrt":
        loss = loss + (outputs - outputs.detach()).square().sum(1).sqrt().mean()
    loss.backward()
    if kind == "clipped":
        nn.utils.clip_grad_norm_(model.parameters(), 1e-7)
    optimizer.step()
    for _ in range({"four times": 4, "wraps": 1, "stands still": step % 50 == 49}.get(kind, 0)):
        schedule.step()
"""

EVALUATED = """\
import sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
kind = sys.argv[1]
x = torch.randn(1200, 8)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
if kind == "noise":
    y = torch.randint(0, 3, (1200,))
train, held_out = slice(0, 160 if kind == "noise" else 800), slice(800, 1200)
inputs, targets = x[train].clone(), y[train]
if kind == "marked":
    inputs[:, 7] = 3 * targets
if kind == "shared":
    held_out = slice(400)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
seen = TensorDataset(inputs, targets)
for epoch in range({"noise": 30, "shared": 14}.get(kind, 8)):
    for batch, wanted in DataLoader(seen, 32, shuffle=True, drop_last=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), wanted).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for batch, wanted in DataLoader(TensorDataset(x[held_out], y[held_out]), 100):
            nn.functional.cross_entropy(model(batch), wanted)
    model.train()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Make a run of a kind once, and return its folder."""
    folder = tmp_path_factory.mktemp("proved")
    (folder / "train.py").write_text(SCRIPT)
    (folder / "settings.py").write_text(SETTINGS)
    (folder / "evaluated.py").write_text(EVALUATED)

    def run(kind, every=1, script="train.py"):
        if not (folder / kind).exists():
            options = ("--run", kind, "--snapshot", f"every={every}", "--black-box", "32")
            done = call(STEPWATCH, "run", *options, "--quiet", script, kind, cwd=folder)
            assert 0 == done.returncode, done.stderr
        return folder

    return run


def prove(folder, kind, *arguments):
    done = call(STEPWATCH, "prove", kind, "--json", *arguments, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    proof = json.loads(done.stdout)["proof"]
    assert proof["proved"] is (done.returncode == 0)
    return proof


def blame(folder, kind, step):
    done = call(STEPWATCH, "blame", kind, "--step", step, "--json", cwd=folder)
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)["rows"]


def rows_with_the_bad_one(folder, kind, *, last=False):
    """Return the rows of a step in whose batch the bad row is, the first or the last such step."""
    frames = read_frames(Trial(folder / kind).store)
    steps = [one.mode_step for one in frames if BAD_ROW in one.arrays.get("rows", ())]
    return blame(folder, kind, steps[-1 if last else 0])


class TestProve:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("kind", "script", "cause", "rule"),
        [
            ("column", "settings.py", "column", "label_leak"),
            ("sorted", "train.py", "order", "repeated_data"),
            ("shifted", "train.py", "pairing", "chance_level"),
        ],
    )
    def test_how_data_are_arranged(self, recorded, kind, script, cause, rule):
        """The same rows, columns and targets, at other places, make no finding any more."""
        proof = prove(recorded(kind, script=script), kind)

        assert (cause, rule) == (proof["cause"], proof["rule"])
        assert ("removes it", "remains") == tuple(one["outcome"] for one in proof["tried"][-2:])

    @pytest.mark.slow
    @pytest.mark.parametrize(("kind", "cause"), [("marked", "data"), ("shared", "shared")])
    def test_what_is_trained_on_by_what_is_evaluated(self, recorded, kind, cause):
        """The evaluations of the script are run again, too: they tell whether it is gone."""
        proof = prove(recorded(kind, every=50, script="evaluated.py"), kind)

        assert (True, cause) == (proof["proved"], proof["cause"])
        assert ("removes it", "remains") == tuple(one["outcome"] for one in proof["tried"][-2:])

    @pytest.mark.slow
    def test_labels_without_a_rule_are_no_fault_of_those_trained_on(self, recorded):
        """What is evaluated has no rule either: with half of it trained on it remains."""
        proof = prove(recorded("noise", every=50, script="evaluated.py"), "noise")

        assert (False, "") == (proof["proved"], proof["cause"])
        assert "remains" == proof["tried"][-1]["outcome"]

    @pytest.mark.slow
    def test_a_row_that_is_not_finite(self, recorded):
        """Without it all is well, and without all others it is not; the run says so from then."""
        folder = recorded("nan")
        proof = prove(folder, "nan")

        assert (True, "rows", "non_finite_origin") == (
            proof["proved"], proof["cause"], proof["rule"]
        )  # fmt: skip
        assert 1 == len(proof["evidence"]["rows"])
        assert ("as recorded", "remains") == (
            proof["tried"][0]["kind"], proof["tried"][0]["outcome"]
        )  # fmt: skip
        assert [proof["finding_id"]] == [*read_proofs(Trial(folder / "nan").store)]
        for verb in ("show", "check"):
            text = call(STEPWATCH, verb, "nan", cwd=folder).stdout
            assert f"proved: row {proof['evidence']['rows'][0]} of 16" in text
        chains = json.loads(call(STEPWATCH, "check", "nan", "--json", cwd=folder).stdout)["chains"]
        assert proof == chains[0]["proof"]

    @pytest.mark.slow
    def test_updates_that_are_too_large(self, recorded):
        """Another batch does not help, nor a hundredth less of the rate; a fraction of it does."""
        proof = prove(recorded("rate"), "rate")

        assert (True, "rate") == (proof["proved"], proof["cause"])
        assert "remains" == next(
            one["outcome"] for one in proof["tried"] if one["text"].startswith("99 %")
        )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("kind", "cause"),
        [
            ("sqrt", "domain"),
            pytest.param("masked", "rows", marks=pytest.mark.slow),
            pytest.param("raw", "inputs", marks=pytest.mark.slow),
            pytest.param("slow", "pace", marks=pytest.mark.slow),
            pytest.param("zero", "no_rate", marks=pytest.mark.slow),
            pytest.param("clipped", "clipping", marks=pytest.mark.slow),
            pytest.param("epsilon", "epsilon", marks=pytest.mark.slow),
            pytest.param("jump", "schedule", marks=pytest.mark.slow),
            pytest.param("later", "batches", marks=pytest.mark.slow),
        ],
    )
    def test_what_is_unusual_is_proved_by_what_is_usual(self, recorded, kind, cause):
        """And by nothing else that was tried before it, as more precision or other batches."""
        proof = prove(recorded(kind, script="settings.py"), kind)

        assert (True, cause) == (proof["proved"], proof["cause"])
        assert "remains" == proof["tried"][0]["outcome"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("kind", "said"),
        [
            ("four times", "how often the schedule steps: once for each step of the optimizer"),
            ("stands still", "how often the schedule steps: once for each step of the optimizer"),
            ("wraps", "a schedule that is too short: 4 times as long"),
        ],
    )
    def test_a_schedule_by_another_pace(self, recorded, kind, said):
        """From the first step to the last: one that is longer shows at the end what it is."""
        proof = prove(recorded(kind, script="settings.py"), kind)

        assert ("learning_rate_anomaly", "schedule") == (proof["rule"], proof["cause"])
        assert f"{said} it does not occur" == proof["text"]
        assert [0, 129] == proof["steps"]

    @pytest.mark.slow
    def test_a_number_that_changes_in_memory(self, recorded):
        """Two replays agree with each other, and with the run but for one bit of one number."""
        proof = prove(recorded("flip"), "flip")

        assert (True, "memory") == (proof["proved"], proof["cause"])
        assert ("model/0.weight", 7, 20) == tuple(
            proof["evidence"][name] for name in ("name", "index", "train_step")
        )
        assert proof["text"].endswith("; it is bit 30, flipped")

    @pytest.mark.slow
    def test_what_the_replay_does_not_show_stays_a_suspicion(self, recorded):
        """The run parted from what its program does, and nobody knows why: nothing is proved."""
        proof = prove(recorded("unknown"), "unknown")

        assert (False, "") == (proof["proved"], proof["cause"])
        text = call(STEPWATCH, "check", "unknown", cwd=recorded("unknown")).stdout
        assert "not proved: " in text

    @pytest.mark.slow
    def test_a_run_without_a_black_box_says_what_to_record(self, tmp_path):
        (tmp_path / "train.py").write_text(SCRIPT)
        options = ("--run", "run", "--black-box", "0", "--quiet")
        call(STEPWATCH, "run", *options, "train.py", "nan", cwd=tmp_path)
        done = call(STEPWATCH, "prove", "run", cwd=tmp_path)

        assert (2, "") == (done.returncode, done.stdout)
        assert "stepwatch run --snapshot every=K" in done.stderr

    @pytest.mark.slow
    @pytest.mark.parametrize("verb", [("prove",), ("blame", "--step", "3")])
    def test_the_program_of_a_stranger_is_shown_and_not_run(self, recorded, tmp_path, verb):
        folder = recorded("nan")
        path = folder / "nan/run.json"
        before = path.read_text()
        path.write_text(json.dumps(json.loads(before) | {"run_id": "0" * 32}))
        try:
            done = call(STEPWATCH, verb[0], "nan", *verb[1:], cwd=folder)
        finally:
            path.write_text(before)

        assert (2, "") == (done.returncode, done.stdout)
        assert "nothing was run; look at the program" in done.stderr


class TestBlame:
    @pytest.mark.slow
    def test_a_row_that_is_not_finite_comes_first(self, recorded):
        """With its index in the data set, which was looked up there, and as it is there."""
        folder = recorded("nan")
        worst = rows_with_the_bad_one(folder, "nan")[0]

        assert (BAD_ROW, True) == (worst["index"], worst["checked"])
        assert "nan" in worst["shown"]

    @pytest.mark.slow
    def test_without_a_step_it_takes_that_of_the_first_finding(self, recorded):
        folder = recorded("nan")
        (finding, *_) = sorted(
            parse_findings(Trial(folder / "nan").store), key=lambda one: one.step
        )
        done = call(STEPWATCH, "blame", "nan", "--json", cwd=folder)

        assert finding.train_step == json.loads(done.stdout)["mode_step"]

    @pytest.mark.slow
    def test_a_wrong_label_comes_first_once_something_is_learned(self, recorded):
        """Its share of the gradient is the largest."""
        worst = rows_with_the_bad_one(recorded("label"), "label", last=True)[0]

        assert BAD_ROW == worst["index"]
        assert worst["gradient_share"] > 0.3

    @pytest.mark.slow
    def test_a_row_that_is_far_too_large_comes_first(self, recorded):
        assert BAD_ROW == rows_with_the_bad_one(recorded("large"), "large")[0]["index"]

    @pytest.mark.slow
    def test_rows_of_a_data_set_of_lists_are_looked_up(self, recorded):
        """As data sets of Hugging Face have them, before a collator makes tensors."""
        worst = rows_with_the_bad_one(recorded("lists"), "lists")[0]

        assert (BAD_ROW, True) == (worst["index"], worst["checked"])
        assert worst["shown"].startswith("{'inputs': [")

    @pytest.mark.slow
    def test_rows_that_workers_loaded_have_their_indices(self, recorded):
        """They draw ahead; each row is looked up in the data set."""
        rows = blame(recorded("workers"), "workers", 5)

        assert {True, None} == {row["checked"] for row in rows}
        assert 16 == len({row["index"] for row in rows})

    @pytest.mark.slow
    def test_rows_that_were_fetched_ahead_are_those_of_their_own_batch(self, recorded):
        """As accelerate fetches them; the batch that was drawn last comes in the next step."""
        rows = blame(recorded("ahead"), "ahead", 5)

        assert {True, None} == {row["checked"] for row in rows}

    @pytest.mark.slow
    def test_shares_add_up(self, recorded):
        rows = blame(recorded("workers"), "workers", 5)

        assert 1 == pytest.approx(sum(row["loss_share"] for row in rows))
        assert 1 == pytest.approx(sum(row["gradient_share"] for row in rows))
