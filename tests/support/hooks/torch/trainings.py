"""Small models and loops that the tests of the hook share."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch import TorchHook, Trial


class Watched:
    """A hook on everything that runs in a ``with`` block, and the run that it wrote.

    Args:
        run: Where to write.
        options: For the hook.
    """

    def __init__(self, run, **options):
        self.run = run
        self.said = []
        self.hook = TorchHook(run=run, say=self.said.append, **{"strict": True, **options})
        self.end = None

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.hook.__exit__(*raised)
        self.end = self.hook.close()

    @property
    def trial(self):
        return Trial(self.run)

    @property
    def losses(self):
        return self.trial.tensor_names(collection="losses")

    @property
    def counts(self):
        trial = self.trial
        return {str(mode): len(trial.steps(mode)) for mode in trial.modes}

    def series(self, name, statistic="mean", mode="GLOBAL"):
        return self.trial.tensor(name).statistics(mode)[statistic].tolist()

    def infos(self):
        """Return what is known of each tensor at the last step, by name."""
        *_, (record,) = self.trial.records()
        return {info.name: info for info in record.layout.tensors}


def inputs(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


X, Y = inputs(16, 4), inputs(16, 1, seed=2)


def sgd(*models, lr=0.1):
    return torch.optim.SGD([p for model in models for p in model.parameters()], lr=lr)


def fit(model, optimizer=None, *, steps=3, loss=F.mse_loss, each=lambda step: None):
    """Train as scripts do, and return the losses."""
    optimizer = optimizer or sgd(model)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        value = loss(model(X), Y)
        value.backward()
        optimizer.step()
        losses.append(value.item())
        each(step)
    return losses


class TinyCNN(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(1, 3, 3)
        self.norm = nn.BatchNorm2d(3)
        self.head = nn.Linear(3 * 36, 1)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))


class TinyLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(11, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, batch_first=True)
        self.head = nn.Linear(5, 1)

    def forward(self, tokens):
        hidden, _ = self.lstm(self.embed(tokens))
        return self.head(hidden[:, -1])


def as_array(tensor):
    return tensor.detach().float().numpy().copy()
