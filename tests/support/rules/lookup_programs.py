"""Small recommenders whose tables are looked up by ids of others, and such as are meant."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.setup_programs import Case

USERS, ITEMS, BATCH = 60, 200, 64


class Tables(nn.Module):
    """Users and items, whose products are scores."""

    def __init__(self, users=USERS, items=ITEMS, shifts=0):
        super().__init__()
        self.user, self.item = nn.Embedding(users, 4), nn.Embedding(items + shifts, 4)
        self.item_bias, self.user_bias = nn.Embedding(items, 1), nn.Embedding(users, 1)

    def forward(self, users, items):
        if items.dim() > users.dim():
            users = users[:, None]
        return (self.user(users) * self.item(items)).sum(-1) + self.item_bias(items)[..., 0]


class OfUsers(Tables):
    """The same with items that are looked up by users."""

    def forward(self, users, items):
        bias = self.user_bias(users) + self.item_bias(items)
        return (self.user(users) * self.item(users)).sum(-1) + bias[:, 0]


class Unbiased(Tables):
    """The same without a bias."""

    def forward(self, users, items):
        return (self.user(users) * self.item(users)).sum(-1)


class Twice(Tables):
    """Two tables for each id."""

    def __init__(self):
        super().__init__()
        self.wide_user, self.wide_item = nn.Embedding(USERS, 4), nn.Embedding(ITEMS, 4)

    def forward(self, users, items):
        wide = self.wide_user(users) * self.wide_item(items)
        return super().forward(users, items) + wide.sum(-1)


class Hashed(nn.Module):
    """Two tables of different size for one id, and what has been bought is no input."""

    def __init__(self):
        super().__init__()
        self.coarse, self.fine = nn.Embedding(USERS, 4), nn.Embedding(2 * USERS, 4)

    def forward(self, users, items):
        return (self.coarse(users) * self.fine(users)).sum(-1)


class OfOneTable(nn.Module):
    """One table for users and items, which come after them, and a bias of users."""

    def __init__(self):
        super().__init__()
        self.both, self.bias = nn.Embedding(USERS + ITEMS, 4), nn.Embedding(USERS, 1)

    def forward(self, users, items):
        both = torch.stack([users, items + USERS], 1)
        return self.both(both).prod(1).sum(-1) + self.bias(users)[:, 0]


def _batches(generator, items=ITEMS, users=USERS, steps=31):
    for _ in range(steps):
        yield (
            torch.randint(users, (BATCH,), generator=generator),
            torch.randint(items, (BATCH,), generator=generator),
        )


def ranks(negatives, model=Tables, how="calls"):
    """Learn to rank what was bought before what was not.

    Args:
        negatives: Returns so many ids, by a generator.
    """
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for users, bought in _batches(generator):
        others = negatives(BATCH, generator)
        if how == "calls":
            loss = -F.logsigmoid(model(users, bought) - model(users, others)).mean()
        elif how == "columns":
            more = negatives(BATCH, generator)
            scores = model(users, torch.stack([bought, others, more], 1))
            loss = F.cross_entropy(scores, torch.zeros(BATCH, dtype=torch.long))
        else:
            both = torch.cat([bought, others])
            is_bought = (torch.arange(2 * BATCH) < BATCH).float()
            order = slice(None)
            if how == "labels":
                order = torch.randperm(2 * BATCH, generator=generator)
            is_bought, both = is_bought[order], both[order]
            loss = F.binary_cross_entropy_with_logits(
                model(users.repeat(2)[order], both), is_bought
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def rates(model, users=USERS, items=ITEMS):
    """Learn what users think of items."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for someone, items_rated in _batches(generator, items, users):
        stars = torch.rand(BATCH, generator=generator)
        optimizer.zero_grad()
        F.mse_loss(model(someone, items_rated), stars).backward()
        optimizer.step()


def reads(*, shared):
    """Learn from tokens and their positions, in a short text and a long one."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    tokens, places = nn.Embedding(256, 4), nn.Embedding(64, 4)
    model = nn.ModuleDict({"tokens": tokens, "places": places, "head": nn.Linear(4, 1)})
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(31):
        short = torch.randint(64, (8, 64), generator=generator)
        long = torch.randint(256, (8, 64), generator=generator)
        at = torch.arange(64) if shared else torch.arange(64).expand(8, 64)
        read = [tokens(one) + places(at) for one in (short, long)]
        optimizer.zero_grad()
        model["head"](read[0] * read[1]).square().mean().backward()
        optimizer.step()


def _any(upto, number, generator):
    return torch.randint(upto, (number,), generator=generator)


def _popular(number, generator):
    return (torch.rand(number, generator=generator) ** 3 * ITEMS).long()


_ALL, _OF_USERS = partial(_any, ITEMS), partial(_any, USERS)

CASES = {
    **{
        f"negatives of the range of users: {how}": Case(
            partial(ranks, _OF_USERS, how=how), "other_range"
        )
        for how in ("calls", "columns", "halves", "labels")
    },
    **{
        f"negatives of all items: {how}": Case(partial(ranks, _ALL, how=how))
        for how in ("calls", "columns", "halves", "labels")
    },
    "popular negatives": Case(partial(ranks, _popular)),
    "negatives of the first items": Case(partial(ranks, partial(_any, 2 * USERS))),
    "positives and negatives of one table": Case(partial(ranks, _ALL, Twice)),
    "items that are looked up by users": Case(
        partial(rates, partial(OfUsers, ITEMS, ITEMS)), "other_ids"
    ),
    "the same without a bias": Case(partial(rates, Unbiased), "other_ids"),
    "items that are looked up by items": Case(partial(rates, partial(Tables, ITEMS, ITEMS))),
    "two tables for each id": Case(partial(rates, Twice)),
    "two tables of other sizes for one id": Case(partial(rates, Hashed)),
    "one table of users and items": Case(partial(rates, OfOneTable)),
    "positions of tokens": Case(partial(reads, shared=True)),
    "positions of each token": Case(partial(reads, shared=False)),
}
