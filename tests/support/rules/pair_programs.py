"""Small trainings of triplets and pairs that are the wrong way round, and such as are meant."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.setup_programs import Case

CLASSES, WIDTH, BATCH, MARGIN = 6, 12, 32, 0.5
_CENTERS = 1.5 * torch.randn(CLASSES, WIDTH, generator=torch.Generator().manual_seed(1))


def _draw(kinds, generator, spread=1.0):
    return _CENTERS[kinds] + spread * torch.randn(len(kinds), WIDTH, generator=generator)


def _triplet(generator):
    """Return anchors, samples of their kind, and samples of others."""
    kinds = torch.randint(CLASSES, (BATCH,), generator=generator)
    others = (kinds + torch.randint(1, CLASSES, (BATCH,), generator=generator)) % CLASSES
    return [_draw(each, generator) for each in (kinds, kinds, others)]


class Encoder(nn.Sequential):
    """Makes directions of samples."""

    def __init__(self):
        super().__init__(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return F.normalize(super().forward(x), dim=-1)


class Even(nn.Module):
    """Takes what is mirrored for the same."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x):
        return self.encoder(x.abs())


class Distance(nn.Module):
    """Returns how far apart two samples are."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, first, second):
        return F.pairwise_distance(self.encoder(first), self.encoder(second))


class Siamese(nn.Module):
    """Makes of each of two samples what two parts do, one after the other."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 8, 3, padding=1), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(8 * WIDTH, 32), nn.ReLU(), nn.Linear(32, 8))

    def once(self, x):
        return self.head(self.features(x[:, None]).flatten(1))

    def forward(self, first, second):
        return self.once(first), self.once(second)


def _hinge(a, p, n):
    near, far = (a - p).pow(2).sum(1), (a - n).pow(2).sum(1)
    return F.relu(near - far + MARGIN).mean()


def _soft(a, p, n):
    return F.softplus((a - p).norm(dim=1) - (a - n).norm(dim=1)).mean() + 0.01 * a.square().mean()


def _ranked(a, p, n):
    return -F.logsigmoid(((a * p).sum(1) - (a * n).sum(1)) / 0.2).mean()


TRIPLET_LOSSES = {
    "a module": nn.TripletMarginLoss(margin=MARGIN),
    "a function": lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=MARGIN),
    "another distance": nn.TripletMarginWithDistanceLoss(
        distance_function=lambda x, y: 1 - F.cosine_similarity(x, y), margin=MARGIN
    ),
    "by hand": _hinge,
    "softly": _soft,
    "by products": _ranked,
}


def _fit(model, loss_of, steps=111):
    """Train so long; ``loss_of`` makes a batch by a generator."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model, generator).backward()
        optimizer.step()


def triplets(loss, *, turned, how="calls", batch=_triplet, model=Encoder):
    """Learn what is of one kind.

    Args:
        loss: Of anchor, positive and negative.
        turned: The last two are exchanged.
        how: The samples are given one after the other, or together.
    """

    def loss_of(model, generator):
        samples = batch(generator)
        if how == "calls":
            made = [model(one) for one in samples]
        elif how == "chunks":
            made = model(torch.cat(samples)).chunk(3)
        elif how == "slices":
            every = model(torch.cat(samples))
            made = [every[:BATCH], every[BATCH : 2 * BATCH], every[-BATCH:]]
        else:
            every = model(torch.stack(samples, 1).view(-1, WIDTH)).view(BATCH, 3, -1)
            made = [every[:, 0], every[:, 1], every[:, 2]]
        a, p, n = made
        return loss(a, n, p) if turned else loss(a, p, n)

    _fit(model, loss_of)


def _pairs(generator):
    a, p, n = _triplet(generator)
    are_same = torch.rand(BATCH, generator=generator) < 0.5
    return a, torch.where(are_same[:, None], p, n), are_same.float()


def _contrast(model, first, second, same):
    distances = (model(first) - model(second)).norm(dim=1)
    return (same * distances**2 + (1 - same) * F.relu(1 - distances) ** 2).mean()


def _of_distances(model, first, second, same):
    distances = model(first, second)
    terms = torch.where(same == 1, distances.pow(2), torch.clamp(1 - distances, min=0).pow(2))
    return terms.sum() / len(terms)


def _of_parts(model, first, second, same):
    distances = F.pairwise_distance(*model(first, second))
    return (same * distances**2 + (1 - same) * F.relu(1 - distances) ** 2).mean()


def _cosine(model, first, second, same):
    return F.cosine_embedding_loss(model(first), model(second), 2 * same - 1, margin=0.3)


PAIR_LOSSES = {
    "by hand": (_contrast, Encoder),
    "of a model of two inputs": (_of_distances, Distance),
    "of cosines": (_cosine, Encoder),
    "of two parts": (_of_parts, Siamese),
}


def pairs(loss, model, *, turned):
    """Learn what is of one kind, by labels of pairs; ``turned`` takes 1 for others."""

    def loss_of(model, generator):
        first, second, same = _pairs(generator)
        return loss(model, first, second, 1 - same if turned else same)

    _fit(model, loss_of)


def _views(generator):
    """Return samples, other views of these, and other samples."""
    a, _, n = _triplet(generator)
    return a, a + torch.randn(a.shape, generator=generator), n


def _unrelated(generator):
    """Return samples of which nothing but chance says what they are taken for."""
    return [torch.randn(BATCH, WIDTH, generator=generator) for _ in range(3)]


def _nearest(generator):
    """Return samples, others of their kind, and of other kinds those that are nearest."""
    a, p, n = _triplet(generator)
    return a, p, n[torch.cdist(a, n).argmin(1)]


def _mirrored(generator):
    """Return samples, these mirrored, and others that are near."""
    a, p, _ = _triplet(generator)
    return a, -a, p


def hardest():
    """Learn of the hardest triplets of each batch."""

    def loss_of(model, generator):
        kinds = torch.randint(CLASSES, (BATCH,), generator=generator)
        made = model(_draw(kinds, generator))
        same = kinds[:, None] == kinds
        apart = (made[:, None] - made).pow(2).sum(-1)
        far = (apart - 9 * ~same).amax(1)
        return F.relu(far - (apart + 9 * same).amin(1) + MARGIN).mean()

    _fit(Encoder, loss_of)


def two_kinds():
    """Learn what pictures and texts belong together, of the same shape by chance."""

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.pictures, self.texts = Encoder(), Encoder()

    def loss_of(model, generator):
        a, p, n = _triplet(generator)
        return _hinge(model.pictures(a), model.texts(-p), model.texts(-n))

    _fit(Both, loss_of)


class Score(nn.Sequential):
    """Makes a number of each sample, and its double."""

    def __init__(self):
        super().__init__(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, 2))


def orders():
    """Learn which of two samples has more, by the label that says if they are of one kind."""

    def loss_of(model, generator):
        first, second, same = _pairs(generator)
        sign = 1 - 2 * same[:, None]
        return F.softplus(sign * (model(first) - model(second))).mean()

    _fit(Score, loss_of)


CASES = {
    **{
        f"triplets, {'turned' if turned else 'right'}: {name}": Case(
            partial(triplets, loss, turned=turned), "turned" if turned else ""
        )
        for name, loss in TRIPLET_LOSSES.items()
        for turned in (True, False)
    },
    **{
        f"triplets together, {'turned' if turned else 'right'}: {how}": Case(
            partial(triplets, _hinge, turned=turned, how=how), "turned" if turned else ""
        )
        for how in ("chunks", "slices", "places")
        for turned in (True, False)
    },
    **{
        f"pairs, {'turned' if turned else 'right'}: {name}": Case(
            partial(pairs, *of, turned=turned), "turned" if turned else ""
        )
        for name, of in PAIR_LOSSES.items()
        for turned in (True, False)
    },
    "views of the same": Case(partial(triplets, _hinge, turned=False, batch=_views)),
    "kinds that numbers do not tell": Case(
        partial(triplets, _hinge, turned=True, batch=_unrelated)
    ),
    "negatives that are near": Case(partial(triplets, _hinge, turned=False, batch=_nearest)),
    "positives that are far, and are learnt": Case(
        partial(triplets, _hinge, turned=False, batch=_mirrored, model=Even)
    ),
    "the hardest of a batch": Case(hardest),
    "what two models make": Case(two_kinds),
    "differences, and no distances": Case(orders),
}
