"""Small trainings that are put together by mistake, and the same as they are meant."""

from __future__ import annotations

import copy
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau


def _points(classes=4, samples=256, width=8, shares=None):
    generator = torch.Generator().manual_seed(0)
    weights = torch.ones(classes) if shares is None else torch.tensor(shares)
    labels = torch.multinomial(weights, samples, replacement=True, generator=generator)
    centers = 2 * torch.randn(classes, width, generator=generator)
    return centers[labels] + torch.randn(samples, width, generator=generator), labels


def _train(model, loss=F.cross_entropy, steps=40, size=32, data=None, lr=1e-3):
    x, y = data or _points()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        at = torch.arange(step * size, (step + 1) * size) % len(x)
        optimizer.zero_grad()
        loss(model(x[at]), y[at]).backward()
        optimizer.step()


def survives(*, descending, flips=False, by_hand=False, ranks=False, by_numpy=False):
    """Learn risks by the likelihood of Cox, or the ranks of a list, of batches."""
    torch.manual_seed(0)
    inputs = torch.randn(256, 8)
    times = torch.rand(256) * inputs[:, 0].neg().exp()
    events = (torch.rand(256) < 0.7).long()
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def likelihood(risks, at):
        order = torch.argsort(times[at], descending=descending)
        risks = risks[order].flip(0) if flips else risks[order]
        total = risks.exp().cumsum(0).log() if by_hand else torch.logcumsumexp(risks, 0)
        counted = torch.ones(len(at)) if ranks else events[at][order].float()
        return -((risks - total) * (counted.flip(0) if flips else counted)).sum() / counted.sum()

    if ranks:
        del events
    for step in range(40):
        rows = torch.arange(step * 32, (step + 1) * 32) % 256
        rows = rows.numpy() if by_numpy else rows
        optimizer.zero_grad()
        likelihood(model(inputs[rows])[:, 0], rows).backward()
        optimizer.step()


def adds_up(order):
    """Learn from sums that go on from row to row, of some rows, beside times and events."""
    torch.manual_seed(0)
    inputs, times = torch.randn(64, 8), torch.rand(64).sort().values
    events, links = (torch.rand(64) < 0.7).float(), torch.eye(64).to_sparse()
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(40):
        optimizer.zero_grad()
        loss = torch.logcumsumexp(model(inputs)[order(len(inputs))], 0).mean()
        loss.backward()
        optimizer.step()
    del times, events, links


class Block(nn.Module):
    """A residual block."""

    def __init__(self, width=8):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.fc(x))


class Stack(nn.Module):
    """Some blocks, one after the other."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Tied(Stack):
    """The same block again and again: its weights are shared, as in ALBERT."""

    def forward(self, x):
        return super().forward(x)


class Towers(nn.Module):
    """A tower for each side."""

    def __init__(self):
        super().__init__()
        self.towers = nn.ModuleList([nn.Linear(4, 8)] * 2)

    def forward(self, x):
        left, right = (tower(half) for tower, half in zip(self.towers, x.chunk(2, 1), strict=True))
        return left[:, :4] * right[:, :4]


class Heads(nn.Module):
    """One head on the output of each of two layers, as detectors have it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])
        head = nn.Linear(8, 4)
        self.heads = nn.ModuleList([head for _ in range(2)])

    def forward(self, x):
        total = 0.0
        for layer, head in zip(self.layers, self.heads, strict=True):
            x = torch.relu(layer(x))
            total = total + head(x)
        return total


def _sequential(hidden):
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), *hidden, nn.Linear(16, 4))


def repeated(kind):
    torch.manual_seed(0)
    block, act, norm = Block(), nn.PReLU(), nn.LayerNorm(16)
    made = {
        "list": lambda: Stack([block] * 3),
        "towers": Towers,
        "sequence": lambda: _sequential([nn.Linear(16, 16), nn.ReLU()] * 3),
        "copies": lambda: Stack([copy.deepcopy(block) for _ in range(3)]),
        "tied": lambda: Tied([block] * 3),
        "heads": Heads,
        "activations": lambda: _sequential(
            [nn.Linear(16, 16), act, norm, nn.Linear(16, 16), act, norm]
        ),
        "looped": lambda: nn.Sequential(block, nn.Linear(8, 4)),
    }
    _train(made[kind](), steps=12)


class Normalized(nn.Module):
    """Batch normalization with some momentum, which a second pass of each step may turn off."""

    def __init__(self, momentum, second_pass=False, **options):
        super().__init__()
        self.fc, self.head = nn.Linear(8, 16), nn.Linear(16, 4)
        self.norm = nn.BatchNorm1d(16, momentum=momentum, **options)
        self.second_pass = second_pass

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.fc(x))))


def normalized(momentum, *, second_pass=False, freeze=False, pretrained=False, steps=40, **options):
    torch.manual_seed(0)
    model = Normalized(momentum, **options)
    if pretrained:
        model.norm.running_mean.fill_(0.5)
    if freeze:
        model.norm.eval()
    if not second_pass:
        _train(model, steps=steps)
        return
    x, y = _points()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        F.cross_entropy(model(x[:32]), y[:32]).backward()
        kept, model.norm.momentum = model.norm.momentum, 0  # as sharpness-aware minimization does
        F.cross_entropy(model(x[:32]), y[:32]).backward()
        model.norm.momentum = kept
        optimizer.step()


class Network(nn.Module):
    """Layers in a row, as a script calls them: ``between`` follows each but the last."""

    def __init__(self, widths, between, inner=None):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.between, self.inner = between, inner or {}

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if number < len(self.layers) - 1:
                x = self.inner.get(number, self.between)(x)
        return x


class Pictures(nn.Module):
    """Two convolutions and a head; the second may have no activation."""

    def __init__(self, last=torch.relu):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.norm, self.head = nn.BatchNorm2d(8), nn.Linear(8 * 4 * 2, 4)
        self.last = last

    def forward(self, x):
        x = torch.relu(self.first(x.view(-1, 1, 4, 2)))
        return self.head(self.last(self.norm(self.second(x))).flatten(1))


class Projected(nn.Module):
    """A network whose outputs are projected before they are classified."""

    def __init__(self):
        super().__init__()
        self.network = Network([8, 16, 16], torch.relu)
        self.projection, self.head = nn.Linear(16, 8), nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.projection(torch.relu(self.network(x))))


def _block(*widths, activation=nn.ReLU):
    first, second, third = widths
    return nn.Sequential(nn.Linear(first, second), activation(), nn.Linear(second, third))


class Blocks(nn.Module):
    """An encoder that ends in a layer without an activation, and a head."""

    def __init__(self, activation=nn.ReLU):
        super().__init__()
        self.features = _block(8, 16, 16)
        self.head = _block(16, 16, 4, activation=activation)

    def forward(self, x):
        return self.head(self.features(x))


class Probed(nn.Module):
    """The same, with an encoder that is asked for by itself."""

    def __init__(self):
        super().__init__()
        self.embedder = _block(8, 16, 16)
        self.head = _block(16, 16, 4, activation=nn.Tanh)

    def embed(self, x):
        return self.embedder(x)

    def forward(self, x):
        return self.head(self.embedder(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 16)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class ProjectionHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.projection, self.fc = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(torch.nn.functional.gelu(self.projection(x)))


class Represented(nn.Module):
    """What an encoder ends in is taken as it is by a part beside it."""

    def __init__(self):
        super().__init__()
        self.encoder, self.head = Encoder(), ProjectionHead()

    def forward(self, x):
        return self.head(self.encoder(x))


class Adapted(nn.Module):
    """A layer to whose output a product of two small matrices is added."""

    def __init__(self):
        super().__init__()
        self.linear, self.head = nn.Linear(8, 16), nn.Linear(16, 4)
        self.down, self.up = nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.zeros(16, 2))

    def forward(self, x):
        return self.head(torch.relu(self.linear(x) + x @ self.down.T @ self.up.T))


def unseparated(kind):
    """Layers with an activation between them, or without."""
    torch.manual_seed(0)

    def identity(x):
        return x

    made = {
        "none": lambda: Network([8, 16, 16, 4], identity),
        "dropped": lambda: Network([8, 16, 16, 4], nn.Dropout(0.2)),
        "one forgotten": lambda: Network([8, 16, 16, 4], torch.relu, {1: identity}),
        "convolution": lambda: Pictures(identity),
        "all": lambda: Network([8, 16, 16, 4], torch.relu),
        "by hand": lambda: Network([8, 16, 16, 4], lambda x: x * (x > 0)),
        "swish": lambda: Network([8, 16, 16, 4], lambda x: x * torch.sigmoid(x)),
        "normalized": lambda: Network([8, 16, 16, 4], nn.LayerNorm(16)),
        "residual": lambda: _sequential([nn.Linear(16, 16), Residual()]),
        "bottleneck": lambda: Network([8, 2, 4], identity),
        "one layer": lambda: nn.Linear(8, 4),
        "pictures": Pictures,
        "projection": Projected,
        "adapter": Adapted,
        "blocks alike": Blocks,
        "other blocks": lambda: Blocks(nn.Tanh),
        "encoder by itself": Probed,
        "encoder and projection": Represented,
    }
    _train(made[kind](), steps=40)


class Lookup(nn.Module):
    """Attends to the parts of its input; ``dim`` is that of the softmax, of samples and parts."""

    def __init__(self, dim, first=True):
        super().__init__()
        self.score, self.head, self.dim, self.first = nn.Linear(2, 1), nn.Linear(2, 4), dim, first

    def forward(self, x):
        parts = x.view(-1, 4, 2) if self.first else x.view(-1, 4, 2).transpose(0, 1)
        weights = torch.softmax(self.score(parts), dim=self.dim)
        return self.head((weights * parts).sum(1 if self.first else 0))


def attends(dim, *, first=True):
    torch.manual_seed(0)
    _train(Lookup(dim, first), steps=40)


def tags(arrange, loss=F.cross_entropy):
    """Tag tokens: 8 samples of 6 positions, 4 tags."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 8), nn.ReLU(), nn.Linear(8, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(40):
        tokens = torch.randint(9, (8, 6))
        optimizer.zero_grad()
        scores, target = arrange(model(tokens)), tokens % 4
        loss(scores, target if scores.dim() == 3 else target.flatten()).backward()
        optimizer.step()


def segments(loss, *, size=6, is_last=False):
    """Tell for each pixel which of 3 channels is the largest."""
    torch.manual_seed(0)

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.out = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 3, 1)

        def forward(self, x):
            scores = self.out(torch.relu(self.body(x)))
            return scores.movedim(1, -1).contiguous() if is_last else scores

    x = torch.randn(64, 3, size, size)
    _train(Head(), loss, steps=30, size=16, data=(x, x.argmax(1)))


def _rows(scores):
    return scores.reshape(-1, 3)


def _moved(scores):
    return scores.permute(0, 2, 3, 1).reshape(-1, 3)


def entropy_of(rows, scores, labels):
    return F.cross_entropy(rows(scores), labels.reshape(-1))


def focal_of(rows, scores, labels):
    logs = rows(scores).log_softmax(1).gather(1, labels.reshape(-1, 1)).squeeze(1)
    return (-((1 - logs.exp()) ** 1.5) * logs).mean()


def torn_dice(scores, labels):
    chosen = _rows(scores).softmax(-1) * F.one_hot(labels.reshape(-1), 3)
    return 1 - chosen.sum(0).mean() / labels.numel()


def torn_views(scores, labels):
    rows = scores.flatten(2).view(len(scores), -1, 3).log_softmax(-1)
    return -rows.gather(-1, labels.flatten(1)[..., None]).mean()


def over_places(scores, labels):
    """Tell at which of all places each channel is the largest."""
    return F.cross_entropy(scores.reshape(-1, labels[0].numel()), labels.reshape(-1)[:48])


as_they_are = F.cross_entropy
torn_entropy, moved_entropy = partial(entropy_of, _rows), partial(entropy_of, _moved)
torn_focal, moved_focal = partial(focal_of, _rows), partial(focal_of, _moved)


def hears(arrange):
    """Classify recordings: 16 of 3 channels at 12 times, which a recurrent layer goes over."""
    torch.manual_seed(0)

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 2)

        def forward(self, x):
            return self.head(self.layer(arrange(x))[0][:, -1])

    _train(Reader(), steps=40, size=16, data=(torch.randn(64, 3, 12), torch.arange(64) % 2))


def contrasts(scale, *, is_learned=False, normalized=True, dim=-1, masks=False):
    """Two views of each sample, of which each is to be told from the others of the batch."""
    torch.manual_seed(0)
    towers = nn.ModuleList([nn.Linear(8, 16), nn.Linear(8, 16)])
    factor = nn.Parameter(torch.tensor(scale)) if is_learned else scale
    learned = [factor] if isinstance(factor, nn.Parameter) else []
    optimizer = torch.optim.Adam([*towers.parameters(), *learned], lr=1e-3)
    for _ in range(40):
        x = torch.randn(32, 8)
        first, second = (tower(x) for tower in towers)
        if normalized:
            first, second = F.normalize(first, dim=dim), F.normalize(second, dim=dim)
        logits, target = first @ second.t() * factor, torch.arange(32)
        if masks:  # as what is alike is no negative
            logits = logits.masked_fill(torch.eye(32).roll(3, 0).bool(), -1e9)
        optimizer.zero_grad()
        (0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))).backward()
        optimizer.step()


def hardest(fills):
    """Triplets of the farthest of a class and the nearest of another."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(40):
        x, labels = torch.randn(32, 8), torch.arange(32) % 4
        found = F.normalize(model(x), dim=1)
        distances = (2 - 2 * found @ found.T).clamp_min(1e-6).sqrt()
        same = labels[:, None] == labels
        farthest = (distances * same.float()).max(dim=1).values
        others = distances.masked_fill(same, torch.inf) if fills else distances * (~same).float()
        optimizer.zero_grad()
        F.relu(farthest - others.min(dim=1).values + 0.2).mean().backward()
        optimizer.step()


def steps_by_sgd(*given, **named):
    """A classifier that SGD trains, by what it is given."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), *given, **named)
    for _ in range(40):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(32, 8)), torch.randint(0, 4, (32,))).backward()
        optimizer.step()


def contrasts_views(first="noise", second="noise", kind="two", dropout=0.0, *, is_unpaired=False):
    """Two views of each sample, of one encoder: by noise, or as they are.

    Args:
        kind: ``two`` views, one against the other; ``all`` against all; ``one call`` for both; or
            ``in turn``, all against all in pairs that lie side by side, also ``given in turn`` to
            the encoder. Or ``labels``: of samples as they are, those of a class are alike.
        is_unpaired: Targets are those of the other arrangement.
    """
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(dropout), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    for _ in range(40):
        x = torch.randn(16, 8)
        views = [x + 0.1 * torch.randn(x.shape) if of == "noise" else x for of in (first, second)]
        if kind == "one call":
            found = F.normalize(encoder(torch.cat(views)), dim=1).chunk(2)
        else:
            found = [F.normalize(encoder(view), dim=1) for view in views]
        if kind == "given in turn":
            z = F.normalize(encoder(torch.stack(views, 1).flatten(0, 1)), dim=1)
            logits, rows = (z @ z.T / 0.2).fill_diagonal_(-1e9), torch.arange(32)
            target = (rows + 16) % 32 if is_unpaired else rows ^ 1
        elif kind in ("all", "in turn"):
            rows = torch.arange(32)
            z = torch.cat(found) if kind == "all" else torch.stack(found, 1).flatten(0, 1)
            logits = (z @ z.T / 0.2).fill_diagonal_(-1e9)
            target = (rows + 16) % 32 if (kind == "all") != is_unpaired else rows ^ 1
        elif kind == "labels":
            logits = (found[0] @ found[0].T / 0.2).masked_fill(torch.eye(16).bool(), -1e9)
            target = torch.arange(16) ^ 1
        else:
            logits, target = found[0] @ found[1].T / 0.2, torch.arange(16)
        optimizer.zero_grad()
        F.cross_entropy(logits, target).backward()
        optimizer.step()


class Gated(nn.Module):
    """Weighs the outputs of the best experts by a softmax after they were chosen, or before."""

    def __init__(self, best, *, before=False):
        super().__init__()
        self.router, self.best, self.before = nn.Linear(8, 4), best, before
        self.experts = nn.ModuleList(nn.Linear(8, 4) for _ in range(4))

    def forward(self, x):
        logits = self.router(x)
        weights, chosen = (logits.softmax(-1) if self.before else logits).topk(self.best)
        weights = weights if self.before else F.softmax(weights, dim=-1)
        outputs = torch.stack([expert(x) for expert in self.experts], 1)
        picked = outputs.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 4))
        return (picked * weights.unsqueeze(-1)).sum(1)


def rolls_out(*, crossed):
    """Flatten states of (steps, places), and what weighs them of (places, steps) or the same."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(20):
        states = torch.randn(8, 4, 3)
        goals = states.sum(2).T.contiguous() if crossed else states.sum(2)
        rows, targets = states.reshape(-1, 3), goals.reshape(-1)
        optimizer.zero_grad()
        F.mse_loss(model(rows).squeeze(1), targets).backward()
        optimizer.step()


class Variational(nn.Module):
    """A variational autoencoder of vectors, whose code has two layers or one."""

    def __init__(self, names=("fc_mu", "fc_logvar")):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(16, 16), nn.Linear(4, 16)
        for name in names:
            self.add_module(name, nn.Linear(16, 8 // len(names)))
        self.names = names

    def forward(self, x):
        hidden = torch.tanh(self.encoder(x))
        code = torch.cat([getattr(self, name)(hidden) for name in self.names], 1)
        mean, spread = code.chunk(2, 1)
        drawn = mean + (0.5 * spread).exp() * torch.randn_like(mean)
        return self.decoder(drawn), mean, spread


def decorrelates():
    """Two views of each sample, of which each feature is to be alike and no other."""
    torch.manual_seed(0)
    tower = nn.Linear(8, 16)
    optimizer = torch.optim.Adam(tower.parameters(), lr=1e-3)
    for _ in range(40):
        x = torch.randn(32, 8)
        first, second = (tower(x + 0.1 * torch.randn(32, 8)) for _ in range(2))
        first, second = (F.normalize(one - one.mean(0), dim=0) for one in (first, second))
        optimizer.zero_grad()
        (first.t() @ second - torch.eye(16)).square().sum().backward()
        optimizer.step()


def drops(way):
    """A classifier with dropout, or without, that is seeded somewhere."""
    torch.manual_seed(0)
    dropout = nn.Dropout(0.5 if way != "nothing drawn" else 0.0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), dropout, nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.randn(40, 32, 8, generator=torch.Generator().manual_seed(1))
    for number, x in enumerate(data):
        if way in ("each step", "nothing drawn") or (way == "each epoch" and number % 2 == 0):
            torch.manual_seed(42)
        elif way == "another":
            torch.manual_seed(number)
        elif way == "evaluation":
            with torch.random.fork_rng(), torch.no_grad():
                torch.manual_seed(42)
                model(data[0])
        optimizer.zero_grad()
        (model(x)[:, 0] - x[:, 0]).square().mean().backward()
        optimizer.step()


def projects():
    """Directions that come from all samples together, as those of a decomposition do."""
    torch.manual_seed(0)
    x = torch.linalg.svd(torch.randn(32, 8), full_matrices=False)[0]
    matrix = nn.Parameter(torch.randn(8, 4))
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam([matrix, *model.parameters()], lr=1e-3)
    for _ in range(40):
        optimizer.zero_grad()
        model(x @ F.normalize(matrix, dim=0)).square().mean().backward()
        optimizer.step()


def encodes(reduction, *names, target=lambda x: x):
    """Learn vectors by a code; the KL divergence is a sum over its dimensions."""
    torch.manual_seed(0)
    basis, model = torch.randn(4, 16), Variational(names or ("fc_mu", "fc_logvar"))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(230):
        x = torch.randn(64, 4) @ basis
        made, mean, spread = model(x)
        parts = 64 if reduction == "sum" else 50
        loss = F.mse_loss(made, target(x), reduction=reduction) / parts
        divergence = -0.5 * (1 + spread - mean.square() - spread.exp()).sum(1).mean()
        optimizer.zero_grad()
        (loss + divergence).backward()
        optimizer.step()


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x):
        return self.layer(F.dropout(x, 0.2, training=self.training))


class AlwaysDropping(Dropping):
    def forward(self, x):
        return self.layer(F.dropout(x, 0.2))


def evaluates(kind):
    """Train, and evaluate in eval mode."""
    torch.manual_seed(0)
    model = kind()
    _train(model)
    model.eval()
    with torch.no_grad():
        model(_points()[0])


class Padded(nn.Module):
    """Attends to tokens, of which those that pad a sample are 0."""

    def __init__(self, hides, has_positions):
        super().__init__()
        self.embed, self.head, self.hides = nn.Embedding(12, 8), nn.Linear(8, 4), hides
        self.positions = nn.Embedding(6, 8) if has_positions else None
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, tokens):
        mask, embedded = self.hides(tokens), self.embed(tokens)
        if self.positions is not None:
            embedded = embedded + self.positions(torch.arange(6).expand(tokens.shape))
        return self.head(self.encoder(embedded, src_key_padding_mask=mask).mean(1))


def pads(hides, *, as_numbers=False, has_positions=False):
    torch.manual_seed(0)
    tokens = torch.randint(1, 12, (256, 6)) * (torch.arange(6) < torch.randint(2, 6, (256, 1)))

    def mask(one):
        hidden = hides(one)
        return torch.zeros(one.shape).masked_fill(hidden, -torch.inf) if as_numbers else hidden

    _train(Padded(mask, has_positions), steps=40, data=(tokens, tokens[:, 0] % 4))


class Averaged(nn.Module):
    """Averages what tokens are embedded as."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(13, 8, padding_idx=0), nn.Linear(8, 4)

    def forward(self, tokens):
        return self.head(self.embed(tokens).mean(1))


def numbers_tokens(first, *, one_gap=False):
    """Ids of tokens from ``first`` on, in rows that are padded at their ends."""
    torch.manual_seed(0)
    tokens = torch.randint(first, 12, (256, 8)) * (torch.arange(8) < torch.randint(3, 8, (256, 1)))
    if one_gap:
        tokens[::20, 1] = 0
    _train(Averaged(), steps=40, data=(tokens, tokens[:, 0] % 4))


class Reader(nn.Module):
    """Tells the next letter, with time on the first axis."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(9, 8), nn.GRU(8, 16), nn.Linear(16, 9)

    def forward(self, letters, state=None):
        found, state = self.cell(self.embed(letters), state)
        return self.out(found).flatten(0, 1), state


class ByHand:
    """Updates weights as scripts without an optimizer do, unseen by autograd."""

    def __init__(self, parameters):
        self.parameters = list(parameters)

    def zero_grad(self):
        for one in self.parameters:
            one.grad = None

    def step(self):
        for one in self.parameters:
            one.data.add_(one.grad, alpha=-0.1)


def reads(arrange, optimize=torch.optim.Adam):
    """A text of words, in columns that are read side by side."""
    torch.manual_seed(0)
    words = [torch.tensor(one) for one in ([0, 1, 8], [4, 5, 6, 8], [2, 0, 5, 1, 7, 8], [7, 3, 8])]
    drawn = torch.cat([words[one] for one in torch.randint(0, 4, (3200,))])
    text = arrange(drawn[:12000])
    model = Reader()
    optimizer, state = optimize(model.parameters()), None
    for step in range(30):
        at = step * 24
        optimizer.zero_grad()
        found, state = model(text[at : at + 24], state)
        state = state.detach()
        F.cross_entropy(found, text[at + 1 : at + 25].flatten()).backward()
        optimizer.step()


def answers():
    """Tokens of samples side by side, eight of which begin with one prompt."""
    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(30):
        prompts = torch.randint(0, 8, (3, 16)).repeat_interleave(8, 1)
        tokens = torch.cat([prompts, torch.randint(0, 8, (3, 128))])
        optimizer.zero_grad()
        F.cross_entropy(model(tokens[:-1], None)[0], tokens[1:].flatten()).backward()
        optimizer.step()


def represents():
    """An encoder whose representation is predicted, by another model, from another view."""
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
    predictor = nn.Sequential(nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16))
    optimizer = torch.optim.Adam([*encoder.parameters(), *predictor.parameters()])
    target = copy.deepcopy(encoder).requires_grad_(False)
    for _ in range(30):
        x = torch.randn(32, 8)
        optimizer.zero_grad()
        F.mse_loss(predictor(encoder(x)), target(x + 0.1 * torch.randn(32, 8))).backward()
        optimizer.step()


def names_letters(*, stops):
    """Letters of names, of which the last may be followed by a sign that they stop."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        names = torch.randint(1, 20, (32, 9))
        lengths = torch.randint(3, 8, (32, 1))
        names[torch.arange(9) >= lengths] = 0
        ids, targets = F.pad(names, (1, 0)), F.pad(names, (0, 1))
        targets[torch.arange(10) >= lengths + stops] = -1
        logits = model(ids)
        optimizer.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1).backward()
        optimizer.step()


class SequentialWithMask(nn.Sequential):
    """Layers that are told what is padding."""

    def forward(self, ids, mask):
        return super().forward(ids).masked_fill(mask[..., None], 0.0)


def classifies_tokens(
    *, ignored=0, in_front=False, time_first=False, least=3, num_tags=4, first=1, masks=False,
    **options,
):  # fmt: skip
    """Tag the words of short texts, which are padded with 0, as their tags are."""
    torch.manual_seed(0)
    model = (SequentialWithMask if masks else nn.Sequential)(
        nn.Embedding(20, 8), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        ids = torch.randint(1, 20, (16, 12))
        ids[torch.arange(12) >= torch.randint(least, 3 + least, (16, 1)).clamp(max=12)] = 0
        ids = ids.flip(1) if in_front else ids
        tags = torch.where(ids > 0, ids % num_tags + first, ignored)
        if time_first:
            ids, tags = ids.t().contiguous(), tags.t()
        given = (ids, ids == 0) if masks else (ids,)
        loss = F.cross_entropy(model(*given).flatten(0, 1), tags.flatten(), **options)
        if options.get("reduction") == "none":
            loss = loss[ids.flatten() > 0].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Writer(nn.Module):
    """A language model that is given a mask, and its labels, as those of transformers are."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 16), nn.Tanh())
        self.head = nn.Linear(16, 20)

    def forward(self, input_ids, attention_mask=None, labels=None):
        logits = self.head(self.body(input_ids))
        nexts = F.pad(labels, (0, 1), value=-100)[:, 1:]
        return F.cross_entropy(logits.flatten(0, 1), nexts.flatten())


def instructs(kept, *, pad=0, is_left=False, masks=True, size=16, is_whole=False):
    """Learn prompts, a mark, answers and an end, padded; ``kept`` says of which labels are."""
    torch.manual_seed(0)
    model, place = Writer(), torch.arange(14)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(40):
        prompt, answer = (torch.randint(2, 6, (size, 1)) for _ in range(2))
        mark, end = prompt, torch.full_like(prompt, 13) if is_whole else prompt + answer + 1
        ids = torch.randint(3, 20, (size, 14))
        ids = torch.where(place == mark, 2, torch.where(place == end, 1, ids))
        is_text = place <= end
        is_kept = {
            "prompt": place <= mark,
            "answer": place > mark,
            "all": place >= 0,
            "but the mark": place < end - 1,
            "turns": (place != mark) & (place < end),
            "scattered": torch.rand(ids.shape) < 0.3,
        }[kept]
        if kept == "but the mark":  # all texts end in the same two tokens
            ids = torch.where(place == end - 1, 2, ids)
        ids = torch.where(is_text, ids, pad)
        labels = torch.where(is_text & is_kept, ids, -100)
        if is_left:
            ids, labels, is_text = (
                torch.stack([one.roll(13 - int(last)) for one, last in zip(each, end, strict=True)])
                for each in (ids, labels, is_text)
            )
        optimizer.zero_grad()
        model(ids, is_text.long() if masks else None, labels).backward()
        optimizer.step()


def repeats_after():
    """Letters, a separator and the same letters again, all of one length."""
    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(30):
        given = torch.randint(0, 8, (3, 64))
        text = torch.cat([given, torch.full((1, 64), 8), given])
        optimizer.zero_grad()
        F.cross_entropy(model(text[:-1])[0], text[1:].flatten()).backward()
        optimizer.step()


def pads_columns():
    """Tokens with time on the first axis, so that padding is at the end of columns."""
    torch.manual_seed(0)
    embed, cell, out = nn.Embedding(9, 8, padding_idx=0), nn.GRU(8, 16), nn.Linear(16, 2)
    model = nn.ModuleList([embed, cell, out])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(30):
        lengths = torch.randint(4, 12, (64,))
        tokens = torch.randint(1, 9, (12, 64)) * (torch.arange(12)[:, None] < lengths)
        optimizer.zero_grad()
        packed = nn.utils.rnn.pack_padded_sequence(embed(tokens), lengths, enforce_sorted=False)
        F.cross_entropy(out(cell(packed)[1][0]), (tokens == 3).any(0).long()).backward()
        optimizer.step()


class Neighbours(nn.Module):
    """Adds the mean of its neighbours to each node, as layers of graphs do."""

    def __init__(self, outputs):
        super().__init__()
        self.fc = nn.Linear(8, outputs)

    def forward(self, x, edge_index):
        source, target = edge_index
        return self.fc(x + torch.zeros_like(x).index_add(0, target, x[source]))


class Graph(nn.Module):
    """Two layers of a graph that is always the same."""

    def __init__(self, edges):
        super().__init__()
        self.edges = edges
        self.first, self.second = Neighbours(16), nn.Linear(16, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x, self.edges)))


def connects(arrange, *, both_ways=True, is_list=False):
    """Nodes with random neighbours, of which a list of pairs is arranged."""
    torch.manual_seed(0)
    pairs = torch.randint(0, 100, (200, 2))
    if both_ways:
        pairs = torch.stack([pairs, pairs.flip(1)], 1).reshape(-1, 2)
    data = torch.randn(100, 8), torch.randint(0, 3, (100,))
    edges = pairs.tolist() if is_list else pairs
    _train(Graph(arrange(torch.as_tensor(edges))), steps=40, data=data, size=100)


def undirected(edges):
    """Let edges go both ways, in the order of their ends, as PyTorch Geometric does."""
    return torch.unique(torch.cat([edges, edges.flip(0)], 1), dim=1)


class GraphClassifier(nn.Module):
    """Adds up the nodes of each graph of a batch; may count the nodes before a graph itself."""

    def __init__(self, *, counts=False, is_one=False):
        super().__init__()
        self.first, self.second = Neighbours(16), nn.Linear(16, 2)
        self.counts, self.is_one = counts, is_one

    def forward(self, batch):
        x, edges, graph = batch["x"], batch["edge_index"], batch["batch"]
        if self.counts:
            before = torch.bincount(graph).cumsum(0).roll(1).index_fill(0, torch.tensor(0), 0)
            edges = edges + before[batch["edge_graph"]]
        if self.is_one:
            nodes = x.view(int(graph[-1]) + 1, -1, 8).transpose(0, 1).flatten(1)
            neighbours = torch.zeros_like(nodes).index_add(0, edges[1], nodes[edges[0]])
            h = self.first.fc((nodes + neighbours).view(-1, len(x) // len(nodes), 8))
            return self.second(h.relu().mean(0))
        h = torch.relu(self.first(x, edges))
        return self.second(torch.zeros(int(graph[-1]) + 1, 16).index_add(0, graph, h))


class _Data:
    """Has the attributes of a graph, as that of PyTorch Geometric, which is not needed here."""

    __module__ = "torch_geometric.data.data"

    def __init__(self, values):
        self.__dict__.update(values)

    def __getitem__(self, name):
        return self.__dict__[name]


#: PyTorch Geometric makes the class of a batch as it is needed, of another module.
_DataBatch = type("DataBatch", (_Data,), {"__module__": "abc"})


def classifies_graphs(*, offset, loops=False, same=False, as_data=False, **options):
    """Train on batches of paths, of which some are closed."""
    torch.manual_seed(0)
    model = GraphClassifier(**options)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(30):
        sizes = torch.full((16,), 10) if same else torch.randint(6, 14, (16,))
        labels = torch.randint(0, 2, (16,))
        graph = torch.repeat_interleave(torch.arange(16), sizes)
        before = sizes.cumsum(0) - sizes
        edges, of_graph = [], []
        for number, (size, label) in enumerate(zip(sizes, labels, strict=True)):
            path = torch.stack([torch.arange(int(size)), torch.arange(int(size)).roll(-1)])
            path = path[:, : int(size) - 1 + int(label and not same)]
            edges += [torch.cat([path, path.flip(0)], 1) + (before[number] if offset else 0)]
            of_graph += [torch.full((edges[-1].shape[1],), number)]
            if options.get("is_one"):
                break
        edge_index = torch.cat(edges, 1)
        if loops:
            edge_index = torch.cat([edge_index, torch.arange(len(graph)).expand(2, -1)], 1)
        optimizer.zero_grad()
        given = {"x": torch.randn(len(graph), 8), "edge_index": edge_index, "batch": graph}
        given["edge_graph"] = torch.cat(of_graph)
        F.cross_entropy(model(_DataBatch(given) if as_data else given), labels).backward()
        optimizer.step()


class Residual(nn.Module):
    """Adds a linear branch to what it is given."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 16)

    def forward(self, x):
        return torch.relu(x + self.fc(x))


_SHARES = (0.7, 0.2, 0.07, 0.03)


def weighted(kind):
    """Classes of unequal size, with weights of the loss."""
    torch.manual_seed(0)
    shares = torch.tensor(_SHARES)
    weights = {
        "counts": shares,
        "roots": shares.sqrt(),
        "inverse": 1 / shares,
        "none": torch.ones(4),
        "one": torch.tensor([1.0, 1.0, 1.0, 0.5]),
        "cost": torch.tensor([1.0, 5.0, 1.0, 2.0]),
    }[kind]
    _train(
        nn.Linear(8, 4),
        nn.CrossEntropyLoss(weight=weights),
        120,
        64,
        _points(4, 512, shares=_SHARES),
    )


def balanced():
    """Samples are drawn so that classes are equally frequent, and weights add a little to some."""
    torch.manual_seed(0)
    weights = torch.tensor([1.0, 1.1, 1.2, 1.5])
    _train(nn.Linear(8, 4), nn.CrossEntropyLoss(weight=weights))


def positives(weight, share=0.1):
    """Two classes, of which the positive one has a weight."""
    torch.manual_seed(0)
    x, y = _points(classes=2, shares=(1 - share, share))
    loss = nn.BCEWithLogitsLoss(pos_weight=None if weight is None else torch.tensor(weight))
    _train(nn.Sequential(nn.Linear(8, 1), nn.Flatten(0)), loss, 80, data=(x, y.float()))


def plateau(mode, metric="loss", *, epochs=12, noise=0.0, where="training", patience=1):
    """A learning rate that a plateau of some metric lowers, once in ten steps."""
    torch.manual_seed(0)
    x, y = _points(samples=400)
    if noise:
        x = x + noise * torch.randn(x.shape)
    train, val = (x[:320], y[:320]), (x[320:], y[320:])
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    schedule = ReduceLROnPlateau(optimizer, mode=mode, patience=patience, factor=0.7)
    for _ in range(epochs):
        model.train()
        total = 0.0
        for step in range(10):
            part = slice(32 * step, 32 * (step + 1))
            optimizer.zero_grad()
            loss = F.cross_entropy(model(train[0][part]), train[1][part])
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            logits = model(val[0])
            val_loss = F.cross_entropy(logits, val[1]).item()
            accuracy = (logits.argmax(1) == val[1]).float().mean().item()
        if metric == "accuracy":
            schedule.step(accuracy)
        else:
            schedule.step(total / 10 if where == "training" else torch.tensor(val_loss))


def solves(activation, *, penalty=False, also=False, steps=60):
    """Learn the solution of a differential equation, or a gradient penalty.

    Args:
        penalty: Derive once only, as by a penalty on the gradient.
        also: Derive a product with an input as well, which is no straight line in it.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), activation(), nn.Linear(16, 16), activation())
    head = nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(steps):
        x = torch.rand(32, 2, requires_grad=True)
        u = head(model(x))
        (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        loss = (first.norm(dim=1) - 1).square().mean()
        if not penalty:
            options = {"create_graph": True, "allow_unused": True, "materialize_grads": True}
            (second,) = torch.autograd.grad(outputs=first[:, 0].sum(), inputs=x, **options)
            loss = loss + (second[:, 0] - 1).square().mean()
        if also:
            (twice,) = torch.autograd.grad((first * x).sum(), x, create_graph=True)
            loss = loss + twice.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def differentiates(loss_of, *, by_weights=False, steps=40):
    """Fit a function of two inputs, with derivatives by these.

    Args:
        loss_of: Returns the loss, of the model, its inputs and the step.
        by_weights: Whether each step also takes the product of the Hessian and the weights.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(steps):
        x = torch.rand(32, 2, requires_grad=True)
        loss = loss_of(model, x, step)
        if by_weights:
            weights = list(model.parameters())
            first = torch.autograd.grad(loss, weights, create_graph=True)
            torch.autograd.grad(first[0].sum(), weights, retain_graph=True, allow_unused=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _derivative(of, by, **options):
    return torch.autograd.grad(of, by, torch.ones_like(of), **options)[0]


def _boundary(model):
    return model(torch.zeros(4, 2)).square().mean()


def poisson(model, x, step, *, graph=False):
    """The residual of an equation that holds second derivatives only, and a boundary."""
    del step
    first = _derivative(model(x), x, create_graph=True)
    second = _derivative(first[:, 0:1], x, create_graph=graph)[:, 0:1]
    return (second + torch.sin(x[:, 0:1])).square().mean() + _boundary(model)


def heat(model, x, step, *, graph=False):
    """That of one that holds a first derivative, too, which can be learnt."""
    del step
    first = _derivative(model(x), x, create_graph=True)
    flux = -0.1 * first[:, 1]
    keep = {"create_graph" if graph else "retain_graph": True}
    second = torch.autograd.grad(outputs=flux.sum(), inputs=[x], **keep)[0][:, 1]
    return (first[:, 0] + second).square().mean() + _boundary(model)


def fits(model, x, step, *, every=1, attack=False):
    """A fit of which the curve is printed, or that is trained on what misleads it."""
    target = x.detach().prod(1, keepdim=True)
    if attack:
        gradient = _derivative((model(x) - target).square(), x)
        return (model(x.detach() + 0.1 * gradient.sign()) - target).square().mean()
    prediction = model(x)
    if step % every == 0:
        first = _derivative(prediction, x, create_graph=True)
        _derivative(first[:, 0], x, retain_graph=True)
    return (prediction - target).square().mean()


def resamples(model, x, step):
    """An equation that is learnt where its residual is steep."""
    del step
    first = _derivative(model(x), x, create_graph=True)
    second = _derivative(first[:, 0], x, create_graph=True)[:, 0]
    residual = (second + first[:, 1]).square()
    weight = _derivative(residual, x, retain_graph=True).norm(dim=1)
    return (weight * residual).mean() + _boundary(model)


def penalizes(model, x, step, *, create_graph=False):
    """A gradient penalty whose gradients have a graph, or none."""
    del step
    (gradient,) = torch.autograd.grad(
        model(x).sum(), x, create_graph=create_graph, retain_graph=True
    )
    penalty = (gradient.norm(dim=1) - 1).square().mean()
    return _boundary(model) + 10 * penalty


def probes(model, x, step):
    """A gradient penalty, and now and then how fast it changes."""
    first = _derivative(model(x), x, create_graph=True)
    if step % 10 == 0:
        _derivative(first[:, 0], x, retain_graph=True)
    return (first.norm(dim=1) - 1).square().mean() + _boundary(model)


class _Positions(nn.Module):
    """Adds a table of positions, or embeds their numbers."""

    def __init__(self, kind, width=8):
        super().__init__()
        self.kind, self.embedding = kind, nn.Embedding(64, width)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("table", torch.randn(64, 1, width).cumsum(0))

    def forward(self, x):
        if self.kind == "embedded":
            return x + self.embedding(torch.arange(x.size(0))).unsqueeze(1)
        if self.kind == "embedded along":
            return x + self.embedding(torch.arange(x.size(1)))
        if self.kind == "along":
            return self.dropout(x + self.table[: x.size(1)].transpose(0, 1))
        return self.dropout(x + self.table[: x.size(0)])


class _OwnAttention(nn.Module):
    """Attention of one head, which is told by no argument what its axes are."""

    def __init__(self, width, axis):
        super().__init__()
        self.parts, self.axis = nn.Linear(width, 3 * width), axis

    def forward(self, x):
        q, k, v = self.parts(x if self.axis else x.transpose(0, 1)).chunk(3, -1)
        mixed = (q @ k.transpose(1, 2) / 8**0.5).softmax(-1) @ v
        return x + (mixed if self.axis else mixed.transpose(0, 1))


class _Reader(nn.Module):
    def __init__(self, kind, batch_first, own):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(16, 8), _Positions(kind)
        self.head, self.axis = nn.Linear(8, 4), int(batch_first)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=batch_first)
        self.block = _OwnAttention(8, self.axis) if own else layer

    def forward(self, ids):
        return self.head(self.block(self.positions(self.tokens(ids))).mean(self.axis))


def reads_by_position(kind, batch_first=True, own=False):
    """Classifies texts of twelve tokens by attention and by where these are."""
    torch.manual_seed(0)
    ids = torch.randint(0, 16, (256, 12))
    data = ids, (ids[:, :6].sum(1) > ids[:, 6:].sum(1)).long()
    model = _Reader(kind, batch_first, own)
    if not batch_first:
        reader = model
        model = nn.Sequential(_Transposed(), reader)
    _train(model, data=data)


def drops_share(share, at=1):
    """A classifier with dropout before its first layer, or behind it."""
    torch.manual_seed(0)
    layers = [nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)]
    layers.insert(2 * at, nn.Dropout(share))
    _train(nn.Sequential(*layers))


def echoes(kind, *, detached="each step", by_chunk=4):
    """Repeat a symbol of five steps before, by a layer that is called for one step at a time.

    Args:
        kind: ``GRUCell``, ``LSTMCell``, ``RNNCell`` or ``GRU``.
        detached: When the state loses its graph: at ``each step``, or for each ``chunk``.
        by_chunk: So many chunks of 8 steps are one step of the training.
    """
    torch.manual_seed(0)
    embedding, head, cell = nn.Embedding(6, 8), nn.Linear(16, 6), getattr(nn, kind)(8, 16)
    parameters = [*embedding.parameters(), *head.parameters(), *cell.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)

    def without_graph(state):
        if isinstance(state, tuple):
            return tuple(one.detach() for one in state)
        return state.detach()

    for _ in range(13):
        x, state, losses = torch.randint(6, (32, 8 * by_chunk)), None, []
        for t in range(8 * by_chunk):
            given = embedding(x[:, t])
            if kind == "GRU":
                returned, state = cell(given[None], state)
                returned = returned[0]
            else:
                state = cell(given, state)
                returned = state[0] if kind == "LSTMCell" else state
            if t >= 5:
                losses.append(F.cross_entropy(head(returned), x[:, t - 5]))
            if detached == "each step" or (t + 1) % 8 == 0:
                state = without_graph(state)
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        optimizer.step()


class _Transposed(nn.Module):
    def forward(self, x):
        return x.T


class Case(NamedTuple):
    """A program, the rule, and the beginning of the condition it finds; empty for none."""

    program: object
    condition: str = ""
    rule: str = "setup"


RATE = "learning_rate_anomaly"
CASES = {
    "a list of one block": Case(partial(repeated, "list"), "repeated"),
    "two towers that are one": Case(partial(repeated, "towers"), "repeated"),
    "a sequence with one layer at three places": Case(partial(repeated, "sequence"), "repeated"),
    "no activation": Case(partial(unseparated, "none"), "linear"),
    "dropout in the place of activations": Case(partial(unseparated, "dropped"), "linear"),
    "one activation forgotten": Case(partial(unseparated, "one forgotten"), "linear"),
    "no activation between a convolution and the last layer": Case(
        partial(unseparated, "convolution")
    ),
    "no activation after a sequence": Case(partial(unseparated, "other blocks"), "linear"),
    **{
        f"activations: {kind}": Case(partial(unseparated, kind))
        for kind in (
            "all",
            "by hand",
            "swish",
            "normalized",
            "residual",
            "pictures",
            "blocks alike",
            "encoder by itself",
            "encoder and projection",
        )
    },
    "dropout of the share that is kept": Case(partial(drops_share, 0.9), "drops_most"),
    "dropout of half": Case(partial(drops_share, 0.5)),
    "dropout of samples, as noise": Case(partial(drops_share, 0.9, at=0)),
    "a state that is detached at each step": Case(partial(echoes, "GRUCell"), "detached_state"),
    "the same of two parts": Case(partial(echoes, "LSTMCell"), "detached_state"),
    "the same of a layer that is given one step at a time": Case(
        partial(echoes, "GRU"), "detached_state"
    ),
    "a state that is detached for each chunk": Case(
        partial(echoes, "GRUCell", detached="chunk", by_chunk=6)
    ),
    "positions of samples": Case(partial(reads_by_position, "first"), "sample_positions"),
    "embedded positions of samples": Case(
        partial(reads_by_position, "embedded"), "sample_positions"
    ),
    "positions of samples in front of attention of one's own": Case(
        partial(reads_by_position, "first", own=True), "sample_positions"
    ),
    "positions of tokens in front of attention of one's own": Case(
        partial(reads_by_position, "along", own=True)
    ),
    "the same where tokens come first": Case(partial(reads_by_position, "first", False, own=True)),
    "positions of tokens": Case(partial(reads_by_position, "along")),
    "embedded positions of tokens": Case(partial(reads_by_position, "embedded along")),
    "positions where tokens come first": Case(partial(reads_by_position, "first", False)),
    "a softmax over the samples": Case(partial(attends, 0), "over_samples"),
    "the same counted from the end": Case(partial(attends, -3), "over_samples"),
    "a softmax over the parts": Case(partial(attends, 1)),
    "a softmax over the parts that come first": Case(partial(attends, 0, first=False)),
    "cosines times the temperature": Case(partial(contrasts, 0.07), "temperature"),
    "the nearest of what a mask leaves out": Case(partial(hardest, False), "masked_extreme"),
    "the nearest of what a mask leaves": Case(partial(hardest, True)),
    "weight decay in the place of momentum": Case(
        partial(steps_by_sgd, 0.05, 5e-4, 0.9), "dampened"
    ),
    "momentum with dampening": Case(partial(steps_by_sgd, lr=0.05, momentum=0.9, dampening=0.9)),
    "masked cosines times the temperature": Case(
        partial(contrasts, 0.07, masks=True), "temperature"
    ),
    "cosines over the temperature": Case(partial(contrasts, 1 / 0.07)),
    "masked cosines over the temperature": Case(partial(contrasts, 1 / 0.07, masks=True)),
    "cosines": Case(partial(contrasts, 1.0)),
    "cosines times a learned scale": Case(partial(contrasts, 0.07, is_learned=True)),
    **{
        f"views that are the same, {kind}": Case(
            partial(contrasts_views, "none", "none", kind), "same_views"
        )
        for kind in ("two", "all", "one call", "in turn")
    },
    **{
        f"views by noise, {kind}": Case(partial(contrasts_views, kind=kind))
        for kind in ("two", "all", "one call", "in turn")
    },
    **{
        f"views of different samples, {kind}": Case(
            partial(contrasts_views, kind=kind, is_unpaired=True), "unpaired"
        )
        for kind in ("all", "in turn", "given in turn")
    },
    "a gate of one expert, after it was chosen": Case(lambda: _train(Gated(1)), "one_unit"),
    "a gate of one expert, before it is chosen": Case(lambda: _train(Gated(1, before=True))),
    "gates of two experts": Case(lambda: _train(Gated(2))),
    "rows of different axes": Case(partial(rolls_out, crossed=True), "crossed_rows"),
    "rows of the same axes": Case(partial(rolls_out, crossed=False)),
    "views given in turn": Case(partial(contrasts_views, kind="given in turn")),
    "a view by noise, and the sample": Case(partial(contrasts_views, "none")),
    "views by dropout": Case(partial(contrasts_views, "none", "none", dropout=0.1)),
    "views by labels": Case(partial(contrasts_views, "none", "none", "labels")),
    "vectors of the batch in place of their own": Case(
        partial(contrasts, 1.0, dim=0), "over_samples"
    ),
    "features of a batch": Case(decorrelates),
    "one seed in each step": Case(partial(drops, "each step"), "reseeded"),
    **{
        f"seeds: {way}": Case(partial(drops, way))
        for way in ("once", "each epoch", "another", "evaluation", "nothing drawn")
    },
    "directions of all samples": Case(projects),
    "products of any length": Case(partial(contrasts, 0.07, normalized=False)),
    "a code that says nothing": Case(partial(encodes, "mean"), "posterior"),
    "a code of any layers that says nothing": Case(
        partial(encodes, "mean", "fc1", "fc2"), "posterior"
    ),
    "a code of one layer that says nothing": Case(partial(encodes, "mean", "code"), "posterior"),
    "a code that says something": Case(partial(encodes, "sum")),
    "a code of something else": Case(partial(encodes, "mean", target=torch.sign)),
    "a mask that hides tokens": Case(partial(pads, lambda one: one != 0), "padding_only"),
    "the same in numbers": Case(
        partial(pads, lambda one: one != 0, as_numbers=True), "padding_only"
    ),
    "the same beside an embedding of positions": Case(
        partial(pads, lambda one: one != 0, has_positions=True), "padding_only"
    ),
    "a token with the id of padding": Case(partial(numbers_tokens, 0), "pads_tokens"),
    "names that never stop": Case(partial(names_letters, stops=0), "no_end"),
    "names that stop": Case(partial(names_letters, stops=1)),
    "answers that are ignored": Case(partial(instructs, "prompt"), "ignored_ends"),
    "the same, padded with the sign of an end": Case(
        partial(instructs, "prompt", pad=1), "ignored_ends"
    ),
    "the same, padded at the left": Case(
        partial(instructs, "prompt", is_left=True), "ignored_ends"
    ),
    "the same without a mask": Case(partial(instructs, "prompt", masks=False), "ignored_ends"),
    "the same in a few texts at a time": Case(partial(instructs, "prompt", size=3), "ignored_ends"),
    "prompts that are ignored": Case(partial(instructs, "answer")),
    "prompts that are ignored, padded at the left": Case(
        partial(instructs, "answer", is_left=True)
    ),
    "only padding that is ignored": Case(partial(instructs, "all")),
    "the same, without a mask": Case(partial(instructs, "all", masks=False)),
    "the same, padded as it ends": Case(partial(instructs, "all", pad=1, masks=False)),
    "what comes after a mark that is ignored": Case(partial(instructs, "but the mark")),
    "turns of a chat": Case(partial(instructs, "turns")),
    "tokens that are masked here and there": Case(partial(instructs, "scattered")),
    "what follows the end of a text": Case(
        partial(instructs, "prompt", masks=False, is_whole=True)
    ),
    "tags of padding that count": Case(classifies_tokens, "pads_targets"),
    "tags of padding in front": Case(partial(classifies_tokens, in_front=True), "pads_targets"),
    "tags of padding along the first axis": Case(
        partial(classifies_tokens, time_first=True), "pads_targets"
    ),
    "tags of padding that are ignored": Case(partial(classifies_tokens, ignored=-100)),
    "tags of padding that are ignored by their number": Case(
        partial(classifies_tokens, ignore_index=0)
    ),
    "tags of padding that weigh nothing": Case(
        partial(classifies_tokens, weight=torch.tensor([0.0, 1, 1, 1, 1]))
    ),
    "tags of padding that a mask leaves out": Case(partial(classifies_tokens, reduction="none")),
    "tags of a little padding": Case(partial(classifies_tokens, least=9)),
    "tags of padding that words have, too": Case(partial(classifies_tokens, num_tags=5, first=0)),
    "tags of much padding that words have, too": Case(
        partial(classifies_tokens, num_tags=5, first=0, least=1), "pads_targets"
    ),
    "tags of padding that words have, too, beside a mask": Case(
        partial(classifies_tokens, num_tags=5, first=0, masks=True), "pads_targets"
    ),
    "ignored tags of padding beside a mask": Case(
        partial(classifies_tokens, ignored=-100, masks=True)
    ),
    "text that is cut across": Case(partial(reads, lambda text: text.view(-1, 16)), "across"),
    "text that is cut into columns": Case(partial(reads, lambda text: text.view(16, -1).t())),
    "text that is cut across, without an optimizer": Case(
        partial(reads, lambda text: text.view(-1, 16), ByHand), "across"
    ),
    "text that is cut into columns, without an optimizer": Case(
        partial(reads, lambda text: text.view(16, -1).t(), ByHand)
    ),
    "letters that are said again after a separator": Case(repeats_after),
    "several answers to a prompt side by side": Case(answers),
    "a representation that another model predicts": Case(represents),
    "padding at the end of columns": Case(pads_columns),
    "scores that were reshaped": Case(partial(tags, lambda one: one.view(8, 4, 6)), "reshaped"),
    "the same before a softmax": Case(
        partial(tags, lambda one: one.view(8, 4, 6).log_softmax(1), F.nll_loss), "reshaped"
    ),
    "scores of classes first, taken for rows": Case(
        partial(tags, lambda one: one.transpose(1, 2).contiguous().view(-1, 4)), "torn_classes"
    ),
    **{
        f"pixels whose classes are not moved last, {name}": Case(partial(segments, loss), told)
        for loss, name, told in (
            (torn_entropy, "by a cross-entropy", "torn_classes"),
            (torn_focal, "by a focal loss", "torn_classes"),
            (torn_dice, "by a product with one-hot targets", "torn_classes"),
            (torn_views, "by several views", "torn_classes"),
            (moved_entropy, "but for these that are", ""),
            (moved_focal, "but for these that a focal loss is given", ""),
            (as_they_are, "as need not be", ""),
            (over_places, "as the places are chosen", ""),
        )
    },
    "pixels of which each is a sample": Case(partial(segments, torn_entropy, size=1)),
    "pixels of a head that has classes last": Case(partial(segments, torn_entropy, is_last=True)),
    "pixels of a head that has as many columns": Case(
        partial(segments, torn_entropy, is_last=True, size=3)
    ),
    "recordings that were reshaped": Case(
        partial(hears, lambda one: one.reshape(-1, 12, 3)), "reshaped"
    ),
    "recordings that were transposed": Case(partial(hears, lambda one: one.transpose(1, 2))),
    "recordings that were transposed and copied": Case(
        partial(hears, lambda one: one.transpose(1, 2).contiguous())
    ),
    "scores that were transposed": Case(partial(tags, lambda one: one.transpose(1, 2))),
    "scores of all positions in rows": Case(partial(tags, lambda one: one.view(-1, 4))),
    "edges that were reshaped": Case(partial(connects, lambda one: one.view(2, -1)), "torn_edges"),
    "edges one way that were reshaped": Case(
        partial(connects, lambda one: one.reshape(2, -1), both_ways=False, is_list=True),
        "torn_pairs",
    ),
    "edges that were reshaped before they went both ways": Case(
        partial(connects, lambda one: undirected(one.view(2, -1)), both_ways=False), "torn_pairs"
    ),
    "edges that were made to go both ways": Case(
        partial(connects, lambda one: undirected(one.T), both_ways=False, is_list=True)
    ),
    "a list of sources and one of targets": Case(
        partial(connects, lambda one: one.T.reshape(-1).reshape(2, -1), both_ways=False)
    ),
    "edges that were transposed": Case(partial(connects, lambda one: one.T)),
    "edges that go one way": Case(partial(connects, lambda one: one.T, both_ways=False)),
    "graphs that all count from 0": Case(partial(classifies_graphs, offset=False), "no_offset"),
    "the same as data of PyTorch Geometric": Case(
        partial(classifies_graphs, offset=False, as_data=True), "no_offset"
    ),
    "the same with loops": Case(partial(classifies_graphs, offset=False, loops=True), "no_offset"),
    "the same of one size": Case(partial(classifies_graphs, offset=False, same=True), "no_offset"),
    "graphs that count on": Case(partial(classifies_graphs, offset=True)),
    "graphs whose model counts on": Case(partial(classifies_graphs, offset=False, counts=True)),
    "one graph for all samples": Case(
        partial(classifies_graphs, offset=False, same=True, is_one=True)
    ),
    "tokens with ids of their own": Case(partial(numbers_tokens, 1)),
    "padding within a few rows": Case(partial(numbers_tokens, 1, one_gap=True)),
    "a mask that hides padding": Case(partial(pads, lambda one: one == 0)),
    "a mask that hides all but the first": Case(partial(pads, lambda one: one.cumsum(1) > one)),
    "risks of those who are gone": Case(partial(survives, descending=False), "risk_set"),
    "the same by hand": Case(partial(survives, descending=False, by_hand=True), "risk_set"),
    "the same by two turns": Case(partial(survives, descending=True, flips=True), "risk_set"),
    "the same of rows that NumPy chose": Case(
        partial(survives, descending=False, by_numpy=True), "risk_set"
    ),
    "risks of those at risk": Case(partial(survives, descending=True)),
    "risks of those at risk, turned": Case(partial(survives, descending=False, flips=True)),
    "sums over some of the rows": Case(partial(adds_up, lambda n: (torch.arange(n - 40, n), 0))),
    "sums over rows that come twice": Case(
        partial(adds_up, lambda n: (torch.arange(n) // 2 + n // 2, 1))
    ),
    "sums over rows of a mask": Case(partial(adds_up, lambda n: (torch.arange(n) > 20, 0))),
    "ranks of a list": Case(partial(survives, descending=False, ranks=True)),
    "the second derivative of a ReLU": Case(partial(solves, nn.ReLU), "second_derivative"),
    "the second derivative of a LeakyReLU": Case(
        partial(solves, nn.LeakyReLU), "second_derivative"
    ),
    "the second derivative of a tanh": Case(partial(solves, nn.Tanh)),
    "a gradient penalty without a graph": Case(
        partial(differentiates, penalizes), "constant_penalty"
    ),
    "a gradient penalty with a graph": Case(
        partial(differentiates, partial(penalizes, create_graph=True))
    ),
    "a gradient penalty": Case(partial(solves, nn.ReLU, penalty=True)),
    "one second derivative of two": Case(partial(solves, nn.ReLU, also=True)),
    **{
        f"a second derivative without a graph: {name}": Case(
            partial(differentiates, loss_of), "without_graph", "loss_input"
        )
        for name, loss_of in {"of Poisson": poisson, "of heat": heat}.items()
    },
    **{
        f"derivatives by inputs: {name}": Case(
            partial(differentiates, loss_of, by_weights=name == "and by weights"), "", "loss_input"
        )
        for name, loss_of in {
            "of Poisson": partial(poisson, graph=True),
            "of heat": partial(heat, graph=True),
            "of a fit": fits,
            "of a fit, now and then": partial(fits, every=7),
            "an attack": partial(fits, attack=True),
            "where to sample": resamples,
            "a penalty": probes,
            "and by weights": probes,
        }.items()
    },
    "a matrix as the product of two": Case(partial(unseparated, "bottleneck")),
    "an adapter of low rank": Case(partial(unseparated, "adapter")),
    "a linear model": Case(partial(unseparated, "one layer")),
    "copies": Case(partial(repeated, "copies")),
    "weights that are tied on purpose": Case(partial(repeated, "tied")),
    "one head for all layers": Case(partial(repeated, "heads")),
    "one activation and one norm": Case(partial(repeated, "activations")),
    "a block that is called in a loop": Case(partial(repeated, "looped")),
    "momentum of another library": Case(partial(normalized, 0.99), "momentum all"),
    "momentum of one": Case(partial(normalized, 1.0), "momentum all"),
    "dropout of a function": Case(partial(evaluates, Dropping), "", "training_mode"),
    "dropout of a function that knows no mode": Case(
        partial(evaluates, AlwaysDropping), "left_on", "training_mode"
    ),
    "momentum of zero": Case(partial(normalized, 0.0), "momentum none"),
    "momentum that is too small for so few steps": Case(
        partial(normalized, 0.001, steps=120), "momentum slow"
    ),
    "small momentum of a trial": Case(partial(normalized, 0.001)),
    "small momentum of what was trained before": Case(
        partial(normalized, 0.001, steps=120, pretrained=True)
    ),
    "momentum of the default of Keras": Case(partial(normalized, 0.01, steps=120)),
    "usual momentum": Case(partial(normalized, 0.1)),
    "large momentum": Case(partial(normalized, 0.5)),
    "cumulative average": Case(partial(normalized, None)),
    "no running statistics": Case(partial(normalized, 0.99, track_running_stats=False)),
    "frozen normalization": Case(partial(normalized, 0.0, freeze=True)),
    "kept statistics": Case(partial(normalized, 0.0, pretrained=True)),
    "a second pass without statistics": Case(partial(normalized, 0.1, second_pass=True)),
    "weights are the counts": Case(partial(weighted, "counts"), "class_weights"),
    "weights are their roots": Case(partial(weighted, "roots"), "class_weights"),
    "weights are inverse": Case(partial(weighted, "inverse")),
    "weights are equal": Case(partial(weighted, "none")),
    "the rarest class weighs less": Case(partial(weighted, "one")),
    "weights are costs": Case(partial(weighted, "cost")),
    "balanced samples": Case(balanced),
    "positives weigh as they occur": Case(partial(positives, 1 / 9), "class_weights"),
    "positives weigh more": Case(partial(positives, 9.0)),
    "frequent positives weigh a little more": Case(partial(positives, 1.3, 0.8)),
    "positives have no weight": Case(partial(positives, None)),
    "plateau of a loss that is to rise": Case(partial(plateau, "max"), "direction", RATE),
    "plateau of a loss of validation that is to rise": Case(
        partial(plateau, "max", where="validation"), "direction", RATE
    ),
    "plateau of an accuracy that is to fall": Case(
        partial(plateau, "min", "accuracy"), "direction", RATE
    ),
    "plateau of a loss": Case(partial(plateau, "min"), "", RATE),
    "plateau of an accuracy": Case(partial(plateau, "max", "accuracy"), "", RATE),
    "plateau of a noisy loss": Case(
        partial(plateau, "min", noise=8.0, where="validation", epochs=20), "", RATE
    ),
}
