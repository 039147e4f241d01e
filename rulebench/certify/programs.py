"""Small scripts, cut at the points where faults are: a fault is another piece at one of them.

Each takes a second or two. The faults are those that look right while they train: the loss falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from ..blind import BATCHES, programs


@dataclass(frozen=True, slots=True)
class Certified:
    """A script.

    Args:
        name: Of the script.
        text: The script.
        breaks: The relations of which at least one must break; none for a healthy script.
        needs: A package that it imports and that may not be installed.
    """

    name: str
    text: str
    breaks: frozenset[str] = field(default_factory=frozenset)
    needs: str = ""


#: A classifier of rows, with an evaluation after each epoch.
_ROWS = {
    "head": "",
    "layers": "self.a, self.b, self.c = nn.Linear(6, 16), nn.Linear(16, 16), nn.Linear(16, 3)",
    "forward": "return self.c(torch.relu(self.b(torch.relu(self.a(x)))))",
    "before": "",
    "train": "loss = F.cross_entropy(model(x), y)\nloss.backward()\noptimizer.step()\n"
    "optimizer.zero_grad()",
    "eval": "model(x)",
    "mode": "model.eval()",
}
_ROWS_TEXT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
inputs = torch.randn(256, 6)
data = TensorDataset(inputs, (inputs.sum(1) > 0).long() + (inputs[:, 0] > 1).long())
{head}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}

    def forward(self, x):
        {forward}


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
{before}
for epoch in range(4):
    model.train()
    for number, (x, y) in enumerate(DataLoader(data, batch_size=16, shuffle=True)):
        {train}
    {mode}
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=32):
            {eval}
"""
#: A model of token ids, padded with 0 at the end of rows.
_TOKENS = {
    "data": "lengths = torch.randint(3, 11, (128,))\n"
    "ids = torch.randint(1, 20, (128, 12)) * (torch.arange(12) < lengths[:, None])\n"
    "data = TensorDataset(ids, (ids.sum(1) > 60).long())",
    "layers": "self.table = nn.Embedding(20, 16, padding_idx=0)\n"
    "self.mix = nn.Linear(16, 16)\nself.head = nn.Linear(16, 2)",
    "forward": "mask = (ids != 0)[..., None]\nh = torch.tanh(self.mix(self.table(ids)))\n"
    "return self.head((h * mask).sum(1) / mask.sum(1))",
    "train": "loss = F.cross_entropy(model(x), y)\nloss.backward()\noptimizer.step()\n"
    "optimizer.zero_grad()",
    "eval": "model(x)",
}
_TOKENS_TEXT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
{data}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}

    def forward(self, ids, *more):
        {forward}


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
for epoch in range(4):
    model.train()
    for number, (x, y) in enumerate(DataLoader(data, batch_size=16, shuffle=True)):
        {train}
    model.eval()
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=32):
            {eval}
"""
#: Replicas, or processes that share each batch in another way, which a launcher starts.
_REPLICAS = {
    "model": "model = DistributedDataParallel(net)",
    "sizes": "rate, size = 0.1, 16",
    "before": "",
    "train": "F.cross_entropy(model(x), y).backward()",
    "after": "",
}
_REPLICAS_TEXT = """\
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
world = dist.get_world_size()
torch.manual_seed(0)
inputs = torch.randn(256, 6)
data = TensorDataset(inputs, (inputs.sum(1) > 0).long())
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
{model}
{sizes}
optimizer = torch.optim.SGD(model.parameters(), rate, 0.9)
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=size, sampler=sampler)
{before}
for epoch in range(4):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        {train}
        optimizer.step()
        {after}
dist.destroy_process_group()
"""

_ACCUMULATES = (
    "loss = F.cross_entropy(model(x), y) / 4\nloss.backward()\n"
    "if number % 4 == 3:\n    optimizer.step()\n    optimizer.zero_grad()"
)
_DROPS = "h = F.dropout(torch.relu(self.a(x)), 0.1{}); return self.c(torch.relu(self.b(h)))"
_ATTENDS = (
    "h = self.table(ids)\nscores = self.mix(h) @ h.mT / 4\n{}\n"
    "h = h + scores.softmax(-1) @ h\nmask = (ids != 0)[..., None]\n"
    "return self.head((h * mask).sum(1) / mask.sum(1))"
)
_MASKS = "scores = scores.masked_fill(ids[:, None] == 0, -1e9)"
_CHECKPOINTS = "return self.c(checkpoint(self.hidden, x, use_reentrant=False{}))"
_HIDDEN = _ROWS["layers"] + "; self.calls = 0\nself.hidden = lambda x: {}"
_LOADS = (
    "import os\nif os.path.exists('last.pt'):\n    states = torch.load('last.pt')\n"
    "    model.load_state_dict(states[0])\n    {}"
)
_SAVES = "model(x)\ntorch.save([model.state_dict(), optimizer.state_dict()], 'last.pt')"
_PACKED = {
    "data": "ids = torch.randint(1, 20, (128, 12))\n"
    "data = TensorDataset(ids, ids)\nplaces = torch.arange(12) % 6",
    "layers": "self.table, self.place = nn.Embedding(20, 16), nn.Embedding(12, 16)\n"
    "self.mix, self.head = nn.Linear(16, 16), nn.Linear(16, 20)",
    "train": "logits = model(x, places.expand(len(x), -1))\n"
    "loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), y[:, 1:].flatten())\n"
    "loss.backward()\noptimizer.step()\noptimizer.zero_grad()",
    "eval": "model(x, places.expand(len(x), -1))",
}
_PACKED_FORWARD = (
    "h = self.table(ids) + self.place(more[0])\nscores = self.mix(h) @ h.mT / 4\n"
    "document = (more[0] == 0).cumsum(1)\nmask = torch.ones(12, 12).tril().bool()[:ids.shape[1], "
    ":ids.shape[1]]\n{}\n"
    "return self.head(h + scores.masked_fill(~mask, -1e9).softmax(-1) @ h)"
)
_OWN_DOCUMENT = "mask = mask & (document[:, :, None] == document[:, None])"
_REDUCES = (
    "F.cross_entropy(model(x), y).backward()\n{}for one in model.parameters():\n"
    "    dist.all_reduce(one.grad)"
)
_SCHEDULES = "schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=400)"
#: A checkpoint within an epoch, and what goes on after it.
_SAVES_WITHIN = (
    _ROWS["train"] + "\nif number == 2:\n"
    "    torch.save([model.state_dict(), optimizer.state_dict(), epoch], 'last.pt')"
)
_CASTS = "    with torch.autocast('cpu', torch.bfloat16):\n"


def _indented(text: str, template: str) -> str:
    """Return a template's piece with the indentation of its place."""
    return text.replace("\n", "\n" + " " * (len(template) - len(template.lstrip())))


def _script(template: str, pieces: Mapping[str, str]) -> str:
    lines = []
    for place in template.splitlines():
        line = place
        name = line.strip().strip("{}")
        is_place = line.strip().startswith("{") and name in pieces
        lines.append(
            _indented(line.replace(f"{{{name}}}", pieces[name]), line) if is_place else line
        )
    return "\n".join(lines) + "\n"


def _rows(name: str, *breaks: str, **pieces: str) -> Certified:
    return Certified(name, _script(_ROWS_TEXT, {**_ROWS, **pieces}), frozenset(breaks))


def _tokens(name: str, *breaks: str, **pieces: str) -> Certified:
    return Certified(name, _script(_TOKENS_TEXT, {**_TOKENS, **pieces}), frozenset(breaks))


def _replicas(name: str, *breaks: str, **pieces: str) -> Certified:
    return Certified(name, _script(_REPLICAS_TEXT, {**_REPLICAS, **pieces}), frozenset(breaks))


FAULTY = (
    _rows("loss_not_divided", "accumulation", train=_ACCUMULATES.replace(" / 4", "")),
    _rows("loss_divided_twice", "accumulation", train=_ACCUMULATES.replace(" / 4", " / 16")),
    _rows(
        "clipped_micro_batches",
        "accumulation",
        train=_ACCUMULATES.replace(
            "loss.backward()\n",
            "loss.backward()\nnn.utils.clip_grad_norm_(model.parameters(), 0.05)\n",
        ),
    ),
    _rows(
        "last_micro_batch_only",
        "accumulation",
        train=_ACCUMULATES.replace("loss.backward()", "optimizer.zero_grad()\nloss.backward()"),
    ),
    _tokens(
        "mean_of_micro_batches",
        "accumulation",
        data="lengths = torch.randint(3, 11, (128,))\n"
        "ids = torch.randint(1, 20, (128, 12)) * (torch.arange(12) < lengths[:, None])\n"
        "data = TensorDataset(ids, ids.masked_fill(ids == 0, -100))",
        layers="self.table, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)",
        forward="return self.head(torch.tanh(self.table(ids)))",
        train="loss = F.cross_entropy(model(x)[:, :-1].flatten(0, 1), y[:, 1:].flatten()) / 4\n"
        "loss.backward()\nif number % 4 == 3:\n    optimizer.step()\n    optimizer.zero_grad()",
    ),
    _rows(
        "broadcast_loss",
        "accumulation",
        layers=_ROWS["layers"].replace("16, 3", "16, 1"),
        train="loss = F.mse_loss(model(x), y.float())\nloss.backward()\noptimizer.step()\n"
        "optimizer.zero_grad()",
    ),
    _rows(
        "softmax_over_batch",
        "rows-apart",
        forward="return self.c(torch.softmax(self.a(x), dim=0) * torch.relu(self.a(x)))",
    ),
    _rows(
        "normalized_by_batch",
        "rows-apart",
        forward="h = torch.relu(self.a(x)); return self.c((h - h.mean(0)) / (h.std(0) + 1e-3))",
    ),
    _rows(
        "neighbour_rows",
        "rows-apart",
        "permuted-batch",
        forward="h = torch.relu(self.a(x)); return self.c(h + 0.1 * h.roll(1, 0))",
    ),
    _rows(
        "place_in_batch",
        "permuted-batch",
        forward="h = torch.relu(self.a(x)); return self.c(h + torch.arange(len(x))[:, None] / 50)",
    ),
    _rows(
        "reshape_mixes_rows",
        "permuted-batch",
        "rows-apart",
        forward="h = torch.relu(self.a(x)); return self.c(h.T.reshape(h.shape))",
    ),
    _rows(
        "scaled_by_batch_maximum",
        "rows-apart",
        forward="h = torch.relu(self.a(x / x.abs().max())); return self.c(torch.relu(self.b(h)))",
    ),
    _rows(
        "evaluated_in_training_mode",
        "rows-apart",
        "evaluation-twice",
        layers=_ROWS["layers"] + "; self.norm = nn.BatchNorm1d(16)",
        forward="return self.c(torch.relu(self.norm(self.a(x))))",
        mode="model.train()",
    ),
    _rows(
        "batch_statistics_in_evaluation",
        "rows-apart",
        layers=_ROWS["layers"] + "; self.norm = nn.BatchNorm1d(16, track_running_stats=False)",
        forward="return self.c(torch.relu(self.norm(self.a(x))))",
    ),
    _rows("dropout_in_evaluation", "evaluation-twice", forward=_DROPS.format("")),
    _rows(
        "evaluation_moves_average",
        "evaluation-twice",
        layers=_ROWS["layers"] + "; self.register_buffer('mean', torch.zeros(6))",
        forward="self.mean.mul_(0.9).add_(0.1 * x.detach().mean(0))\n"
        "return self.c(torch.relu(self.b(torch.relu(self.a(x - self.mean)))))",
    ),
    _rows(
        "evaluation_counts_calls",
        "evaluation-twice",
        layers=_ROWS["layers"] + "; self.register_buffer('calls', torch.zeros(()))",
        forward="self.calls += 1\nreturn self.c(torch.relu(self.a(x))) / (1 + 0.01 * self.calls)",
    ),
    _rows(
        "checkpoint_loses_random_state",
        "checkpointed",
        layers=_HIDDEN.format("F.dropout(torch.relu(self.b(torch.relu(self.a(x)))), 0.3)"),
        forward=_CHECKPOINTS.format(", preserve_rng_state=False"),
    ),
    _rows(
        "checkpoint_counts_twice",
        "checkpointed",
        layers=_HIDDEN.format("torch.relu(self.b(self.count(torch.relu(self.a(x)))))")
        + "\ndef count(h):\n    self.calls += 1\n    return h * (1 + self.calls % 2)\n"
        "self.count = count",
        forward=_CHECKPOINTS.format(""),
    ),
    _rows("resumes_without_optimizer", "resumed", before=_LOADS.format("pass"), eval=_SAVES),
    _rows(
        "resumes_under_other_names",
        "resumed",
        before=_LOADS.format("optimizer.load_state_dict(states[1])").replace(
            "states[0])", "{f'module.{k}': v for k, v in states[0].items()}, strict=False)"
        ),
        eval=_SAVES,
    ),
    _rows(
        "resumes_at_the_start_of_the_epoch",
        "resumed-data",
        before=_LOADS.format("optimizer.load_state_dict(states[1])"),
        train=_SAVES_WITHIN,
    ),
    _replicas(
        "calls_the_module_of_replicas",
        "two-processes",
        train="F.cross_entropy(model.module(x), y).backward()",
    ),
    _replicas("adds_up_gradients", "two-processes", model="model = net", train=_REDUCES.format("")),
    _replicas(
        "clips_before_it_averages",
        "two-processes",
        model="model = net",
        train=_REDUCES.format("nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n")
        + "\n    one.grad /= world",
    ),
    _replicas(
        "schedule_of_each_process",
        "two-processes",
        before=_SCHEDULES,
        after="for _ in range(world):\n    schedule.step()",
    ),
    _tokens(
        "mean_over_padding",
        "padded-longer",
        layers=_TOKENS["layers"],
        forward="h = torch.tanh(self.mix(self.table(ids)))\nreturn self.head(h.mean(1))",
    ),
    _tokens(
        "last_state_of_padding",
        "padded-longer",
        layers=_TOKENS["layers"] + "\nself.rnn = nn.GRU(16, 16, batch_first=True)",
        forward="return self.head(self.rnn(self.table(ids))[0][:, -1])",
    ),
    _tokens("attends_to_padding", "padded-longer", forward=_ATTENDS.format("pass")),
    _tokens(
        "packed_documents_attend", "packed-apart", **_PACKED, forward=_PACKED_FORWARD.format("pass")
    ),
    _rows(
        "sums_in_bfloat16",
        "autocast",
        forward="counts = (torch.ones(len(x), 6) @ torch.full((6, 1), 100.3))\n"
        "return self.c(torch.relu(self.a(x))) * (counts - 600)",
        train="with torch.autocast('cpu', torch.bfloat16):\n    loss = F.cross_entropy(model(x), y)"
        "\nloss.backward()\noptimizer.step()\noptimizer.zero_grad()",
    ),
    _rows(
        "diverges_by_seed",
        "seeds",
        before="if torch.initial_seed() > 0:\n"
        "    optimizer = torch.optim.SGD(model.parameters(), 1e30)",
    ),
)
HEALTHY = (
    _rows("classifier"),
    _rows("accumulates", train=_ACCUMULATES),
    _rows("drops", forward=_DROPS.format(", self.training")),
    _rows(
        "clips_once",
        train=_ACCUMULATES.replace(
            "    optimizer.step()",
            "    nn.utils.clip_grad_norm_(model.parameters(), 0.05)\n    optimizer.step()",
        ),
    ),
    _rows(
        "normalizes",
        layers=_ROWS["layers"] + "; self.norm = nn.BatchNorm1d(16)",
        forward="return self.c(torch.relu(self.norm(self.a(x))))",
    ),
    _rows(
        "checkpoints",
        layers=_HIDDEN.format(
            "F.dropout(torch.relu(self.b(torch.relu(self.a(x)))), 0.3, self.training)"
        ),
        forward=_CHECKPOINTS.format(""),
    ),
    _rows(
        "resumes",
        before=_LOADS.format("optimizer.load_state_dict(states[1])"),
        eval=_SAVES,
    ),
    _rows(
        "resumes_within_an_epoch",
        before="done = (-1, 0)\n"
        + _LOADS.format("optimizer.load_state_dict(states[1])\n    done = (states[2], 2)"),
        train="if (epoch, number) <= done:\n    continue\n" + _SAVES_WITHIN,
    ),
    _replicas("replicas_share_a_batch", sizes="rate, size = 0.1, 16 // world"),
    _replicas("replicas_scale_the_rate", sizes="rate, size = 0.1 * world, 16"),
    _replicas("replicas_with_a_schedule", before=_SCHEDULES, after="schedule.step()"),
    _replicas(
        "averages_by_hand",
        model="model = net",
        train=_REDUCES.format("") + "\n    one.grad /= world\n"
        "nn.utils.clip_grad_norm_(model.parameters(), 0.1)",
    ),
    _rows(
        "contrasts",
        train="z = F.normalize(model(x), dim=1)\nw = F.normalize(model(x + 0.01), dim=1)\n"
        "loss = F.cross_entropy(z @ w.T / 0.1, torch.arange(len(x)))\nloss.backward()\n"
        "optimizer.step()\noptimizer.zero_grad()",
    ),
    _rows(
        "root_mean_square",
        train="loss = F.mse_loss(model(x)[:, 0], y.float()).sqrt()\nloss.backward()\n"
        "optimizer.step()\noptimizer.zero_grad()",
    ),
    _rows(
        "weights_classes",
        train="loss = F.cross_entropy(model(x), y, weight=torch.tensor([1., 2., 5.]))\n"
        "loss.backward()\noptimizer.step()\noptimizer.zero_grad()",
    ),
    _rows(
        "samples_noise",
        forward="h = self.a(x); h = h + torch.randn_like(h)\nreturn self.c(torch.relu(self.b(h)))",
    ),
    _rows(
        "mixes_up",
        train="order, share = torch.randperm(len(x)), torch.rand(1).item()\n"
        "out = model(share * x + (1 - share) * x[order])\n"
        "loss = share * F.cross_entropy(out, y) + (1 - share) * F.cross_entropy(out, y[order])\n"
        "loss.backward()\noptimizer.step()\noptimizer.zero_grad()",
    ),
    _rows("compiles", before="model = torch.compile(model, backend='aot_eager')"),
    _rows(
        "sums_losses",
        train="loss = F.cross_entropy(model(x), y, reduction='sum')\nloss.backward()\n"
        "optimizer.step()\noptimizer.zero_grad()",
    ),
    _tokens("means_without_padding"),
    _tokens("attends", forward=_ATTENDS.format(_MASKS)),
    _tokens("packs", **_PACKED, forward=_PACKED_FORWARD.format(_OWN_DOCUMENT)),
)
#: Healthy scripts as people write them, with a framework or without.
_FRAMEWORKS = {"lightning": "lightning", "trainer": "transformers"}
WRITTEN = tuple(
    Certified(path.stem, path.read_text(), needs=_FRAMEWORKS.get(path.stem.partition("_")[0], ""))
    for path in sorted(Path(__file__).with_name("scripts").glob("*.py"))
)
PROGRAMS = FAULTY + HEALTHY + WRITTEN

#: Of which framework programs of the blind part are certified, and what they import.
_OF_STRANGERS = {"torch": "", "lightning": "lightning", "transformers": "transformers"}


def strangers(batches: Sequence[str], *, every: int = 1) -> Iterator[Certified]:
    """Yield healthy programs of the blind part that train with PyTorch.

    Args:
        batches: Patterns of the names of batches.
        every: Of the programs of a batch each so-manyth.
    """
    for batch in sorted(BATCHES.iterdir(), key=lambda one: int(one.name.rpartition("_")[2])):
        if not any(fnmatchcase(batch.name, pattern) for pattern in batches):
            continue
        chosen = [
            (path, answer.framework)
            for path, answer in programs(batch).items()
            if not answer.faulty and answer.framework in _OF_STRANGERS
        ]
        for path, framework in chosen[::every]:
            yield Certified(
                f"{batch.name}/{path.stem}", path.read_text(), needs=_OF_STRANGERS[framework]
            )
