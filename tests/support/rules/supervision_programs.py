"""Trainings whose targets are the wrong ones or do not count, and the same done right."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.scenarios import Scenario

VOCABULARY, PAD, END, MASK = 17, 0, 1, 2


class Tagger(nn.Module):
    """Predicts a class for each token, as a language model does."""

    def __init__(self, num_classes=VOCABULARY):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.hidden = nn.Linear(32, 32)
        self.head = nn.Linear(32, num_classes)

    def forward(self, input_ids, attention_mask=None, labels=None):
        return self.head(torch.tanh(self.hidden(self.embedding(input_ids))))


def over_all(logits, targets, **options):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), **options)


def trains(batches, model=None, *, steps=60, rate=0.02):
    """Train on what ``batches(step)`` returns: keyword arguments, targets, and their loss."""
    torch.manual_seed(0)
    model = model or Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(steps):
        given, targets, loss = batches(step)
        optimizer.zero_grad()
        loss(model(**given), targets).backward()
        optimizer.step()


def tokens(*shape):
    return torch.randint(3, VOCABULARY, shape)


def shifted_by(by, loss=over_all):
    """A language model whose targets lie so far ahead; padded at the end, as transformers does."""

    def batch(_):
        ids = tokens(8, 12)
        targets = F.pad(ids, (0, 3), value=-100)[:, by : by + 12]
        return {"input_ids": ids}, targets, loss

    return batch


def sliced(by):
    """The same, shifted in the data and again in the loss, by slices of the logits."""

    def loss(logits, targets):
        return over_all(logits[:, :-1], targets[:, 1:])

    def batch(_):
        ids = tokens(8, 14)
        return {"input_ids": ids[:, :12]}, ids[:, by - 1 : by + 11], loss

    return batch


def without_first(_):
    """Right: the first prediction is left out, so targets seem to lie two ahead."""
    ids = tokens(8, 13)

    def loss(logits, targets):
        return over_all(logits[:, 1:], targets[:, 1:])

    return {"input_ids": ids[:, :-1]}, ids[:, 1:], loss


def masked(kept):
    """Masked language modelling; ``kept`` says of which tokens the targets are kept."""

    def batch(_):
        ids = tokens(32, 12)
        hidden = torch.rand(ids.shape) < 0.15
        labels = torch.where(hidden if kept == "hidden" else ~hidden, ids, -100)
        given = {"input_ids": torch.where(hidden, MASK, ids), "labels": labels}
        return given, labels, over_all

    return batch


def other_targets(_):
    """Sequence to sequence, or tags: targets that are no tokens of the input."""
    ids = tokens(8, 12)
    return {"input_ids": ids}, tokens(8, 12), over_all


def tagged(_):
    ids = tokens(8, 12)
    return {"input_ids": ids}, ids * 5 % 7, over_all


def constant(_):
    """Each sequence is one token again and again."""
    ids = tokens(8, 1).expand(8, 12).contiguous()
    return {"input_ids": ids}, ids, over_all


def copy_task(_):
    """The tokens are to be repeated behind a separator."""
    ids = tokens(16, 5)
    given = torch.cat([ids, torch.full((16, 6), END)], 1)
    targets = torch.cat([torch.full((16, 6), -100), ids], 1)
    return {"input_ids": given}, targets, over_all


def after_prompt(_):
    ids = tokens(8, 13)
    targets = ids[:, 1:].clone()
    targets[:, :6] = -100
    return {"input_ids": ids[:, :-1]}, targets, over_all


def padded(_):
    """Padding is ignored, and its number is 0."""
    ids = tokens(8, 13)
    ids[torch.arange(13) >= torch.randint(6, 13, (8, 1))] = PAD
    return {"input_ids": ids[:, :-1]}, ids[:, 1:], partial(over_all, ignore_index=PAD)


def ended(pad, size=8):
    """Each text ends with a token, and is padded with one; targets that are padding are ignored."""

    def batch(_):
        ids, length = tokens(size, 12), torch.randint(6, 12, (size, 1))
        positions = torch.arange(12)
        ids = torch.where(positions == length - 1, END, torch.where(positions < length, ids, pad))
        labels = F.pad(torch.where(ids == pad, -100, ids)[:, 1:], (0, 1), value=-100)
        mask = (positions < length).long()
        return {"input_ids": ids, "attention_mask": mask}, labels, over_all

    return batch


def chats(_):
    """What begins a turn of the user is no target, in any of the turns."""
    ids = tokens(8, 12)
    ids[:, 7] = MASK
    labels = F.pad(ids[:, 1:], (0, 1), value=-100)
    labels[:, 6:10] = -100
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, labels, over_all


def shares(first, then):
    """Some of the targets count, and from the middle on another share of them."""

    def batch(step):
        ids = tokens(64, 12)
        counts = torch.rand(ids.shape) < (first if step < 60 else then)
        return {"input_ids": ids}, torch.where(counts, ids * 3 % 7, -100), over_all

    return batch


def empty(every):
    """At some steps all targets are ignored."""

    def loss(logits, targets):
        return over_all(logits, targets, reduction="sum")

    def batch(step):
        ids = tokens(8, 12)
        targets = torch.full_like(ids, -100) if step % every == 0 else ids * 3 % 7
        return {"input_ids": ids}, targets, loss

    return batch


def classes(ignore_index, labels=3):
    """Whole samples of three classes."""

    def batch(_):
        features = torch.randn(32, 6)
        targets = features[:, :labels].argmax(1)
        return {"input": features}, targets, nn.CrossEntropyLoss(ignore_index=ignore_index)

    return lambda: trains(batch, nn.Linear(6, 3))


def in_time():
    """A decoder whose loss is computed for one token of each sample at a time."""
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        ids = tokens(16, 8)
        ids[torch.arange(8) >= torch.randint(3, 8, (16, 1))] = PAD
        logits = model(ids)
        one = nn.CrossEntropyLoss(ignore_index=PAD)
        optimizer.zero_grad()
        sum(one(logits[:, at], ids[:, at + 1]) for at in range(3)).backward()
        optimizer.step()


class Behind(nn.Module):
    """Predicts each token from those before it: the shift is within the model."""

    def __init__(self, prefix=1):
        super().__init__()
        self.prefix = nn.Parameter(torch.randn(prefix, 32))
        self.body = Tagger()

    def forward(self, input_ids):
        embedded = self.body.embedding(input_ids)
        before = self.prefix.expand(len(input_ids), -1, -1)
        hidden = torch.cat([before, embedded], 1)
        if len(self.prefix) == 1:
            hidden = hidden[:, :-1]
        return self.body.head(torch.tanh(self.body.hidden(hidden)))


def behind(_):
    """Each token follows from the one before, so that it can be predicted."""
    ids = (tokens(16, 1) + torch.arange(12) * 5) % VOCABULARY
    return {"input_ids": ids}, ids, over_all


def with_prefix(_):
    """The logits from the last place of what stands before the text."""
    given, ids, _ = behind(_)
    return given, ids, lambda logits, targets: over_all(logits[:, 3:-1], targets)


class InTime(nn.Module):
    """The same with time on the first axis, and ids that no module embeds."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(VOCABULARY, VOCABULARY)

    def forward(self, ids):
        return self.head(F.one_hot(ids, VOCABULARY).float())


def time_first(by):
    def batch(_):
        ids = tokens(16, 8)
        return {"ids": ids[:12]}, ids[by : by + 12], over_all

    return lambda: trains(batch, InTime())


def two_heads(_):
    """One predicts the next token, one that after it."""
    ids = tokens(8, 14)

    def loss(logits, targets):
        first = over_all(logits, targets[:, 1:13])
        return first + over_all(logits, targets[:, 2:14])

    return {"input_ids": ids[:, :12]}, ids, loss


def of(batches, **options):
    return partial(trains, batches, **options)


#: Programs, and what is found in them: nothing where they are right.
SUPERVISED = {
    "copies_input": of(shifted_by(0)),
    "copies_input of what is not masked": of(masked("visible")),
    "shifted_by two": of(shifted_by(2)),
    "shifted_by slices": of(sliced(2)),
    "shifted_by time first": time_first(2),
    "ignored_class": classes(0),
    "no_targets": of(empty(20)),
    "share_jumped to all": of(shares(0.15, 1.0), steps=120),
    "share_jumped to few": of(shares(0.8, 0.005), steps=120),
    "never_a_target": of(ended(END)),
    "never_a_target at two looks": of(ended(END, size=16), steps=11),
    " right": of(shifted_by(1)),
    " by slices": of(sliced(1)),
    " without the first": of(without_first),
    " masked": of(masked("hidden"), steps=120),
    " other targets": of(other_targets),
    " tagged": of(tagged),
    " constant": of(constant),
    " copy task": of(copy_task),
    " after a prompt": of(after_prompt),
    " padded": of(padded),
    " ended": of(ended(PAD)),
    " ended at two looks": of(ended(PAD, size=16), steps=11),
    " chats": of(chats),
    " steady share": of(shares(0.15, 0.3), steps=120),
    " classes": classes(-100),
    " class that none has": classes(2, labels=2),
    " in time": in_time,
    " time first": time_first(1),
    " two heads": of(two_heads),
    " shift within": lambda: trains(behind, Behind(), steps=120),
    " prefix": lambda: trains(with_prefix, Behind(4), steps=120),
    " seldom empty": of(empty(1000)),
}  # fmt: skip
SCENARIOS = {
    name: Scenario("supervision", program, not name.startswith(" "))
    for name, program in SUPERVISED.items()
}
