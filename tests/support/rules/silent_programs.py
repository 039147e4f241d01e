"""Small trainings with a fault that raises nothing, and the same without it."""

from __future__ import annotations

import copy
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, CosineAnnealingWarmRestarts, LinearLR

from tests.support.rules.scenarios import Scenario


def _points(classes=4, samples=256):
    """Return points around one center for each class, and their classes."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, classes, (samples,), generator=generator)
    centers = 2 * torch.randn(classes, 8, generator=generator)
    return centers[labels] + torch.randn(samples, 8, generator=generator), labels


def _batches(steps, size=32):
    x, y = _points()
    for step in range(steps):
        at = torch.arange(step * size, (step + 1) * size) % len(x)
        yield x[at], y[at]


def modes(forget="", steps=45):
    """Dropout and batch normalization, evaluated every 15 steps."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 4)
    )
    if forget == "train at first":
        model.eval()
    if forget == "batch norm on purpose":
        model[1].eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for number, (x, y) in enumerate(_batches(steps)):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if number % 15 == 14:
            if forget != "eval":
                model.eval()
            with torch.no_grad():
                for _ in range(2):
                    F.cross_entropy(model(x), y)
            if forget == "":
                model.train()
            if forget == "batch norm on purpose":
                model.train()
                model[1].eval()


def sampled(draws):
    """Dropout that is left on in evaluations, each of so many forwards of the same inputs."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for number, (x, y) in enumerate(_batches(45)):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if number % 15 == 14:
            with torch.no_grad():
                torch.stack([model(x) for _ in range(draws)]).mean(0)


def probed(probe=True):
    """Features whose spread is looked at in training mode; those of a part are probed."""
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU())
    model = nn.Sequential(encoder, nn.Linear(16, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for number, (x, y) in enumerate(_batches(45)):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if number % 15 == 14:
            with torch.no_grad():
                model(x)
                if probe:
                    model.eval()
                    encoder(x)
                    model.train()


def accumulated(divided=True, twice=False, steps=14, reduction="mean"):
    """Four micro-batches a step; or one batch with two backward calls."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in _batches(steps):
        optimizer.zero_grad()
        parts = [(x, y)] * 2 if twice else zip(x.chunk(4), y.chunk(4), strict=True)
        for inputs, labels in parts:
            loss = F.cross_entropy(model(inputs), labels, reduction=reduction)
            (loss / 4 if divided else loss).backward()
        optimizer.step()


def zeroed(at_all=True, steps=14):
    """Gradients are set to zero, or not."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in _batches(steps):
        if at_all:
            optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def _plain(outputs, y):
    return F.cross_entropy(outputs, y)


def classifier(loss=_plain, steps=30, lr=1e-2, shuffled=False, head_bias=0.0):
    """Four clouds of points."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    with torch.no_grad():
        model[2].bias += head_bias
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    order = torch.Generator().manual_seed(1)
    for x, y in _batches(steps):
        labels = torch.randint(0, 4, y.shape, generator=order) if shuffled else y
        optimizer.zero_grad()
        loss(model(x), labels).backward()
        optimizer.step()


def binary(sigmoid=False, steps=120, lr=0.3, half=False):
    """Is it of the first class?

    Args:
        sigmoid: Give the loss probabilities.
        half: Have as many of the first class in each batch as of others.
    """
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for x, y in _batches(steps):
        optimizer.zero_grad()
        logits = model(x).squeeze(1)
        logits = logits.sigmoid() if sigmoid else logits
        labels = torch.arange(len(y)) % 2 if half else y == 0
        F.binary_cross_entropy_with_logits(logits, labels.float()).backward()
        optimizer.step()


def regression(flat=False, ends="", steps=20, lr=0.1, half=False):
    """A line; targets may lose a dimension, outputs may end at 1, half of the targets may be 1."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for x, _ in _batches(steps):
        target = torch.arange(len(x))[:, None] % 2.0 if half else 5 + x.sum(1, keepdim=True)
        optimizer.zero_grad()
        outputs = model(x).sigmoid() if ends else model(x)
        F.mse_loss(outputs, target.flatten() if flat else target).backward()
        optimizer.step()


def variational(weight=0.01, loss=F.mse_loss, steps=150):
    """An autoencoder that draws its code; its prior may outweigh what it is to give back."""
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(8, 4), nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 8))
    model = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for x, _ in _batches(steps):
        mean, log_variance = encoder(x).chunk(2, 1)
        code = mean + (log_variance / 2).exp() * torch.randn_like(mean)
        prior = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum()
        target = x.sigmoid() if loss is F.binary_cross_entropy_with_logits else x
        optimizer.zero_grad()
        (loss(decoder(code), target) + weight * prior).backward()
        optimizer.step()


def scheduled(kind, steps=120, times=1, parts=1):
    """A schedule, stepped so many times for each step."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedule = kind(optimizer)
    for x, y in _batches(steps):
        optimizer.zero_grad()
        for inputs, labels in zip(x.chunk(parts), y.chunk(parts), strict=True):
            (F.cross_entropy(model(inputs), labels) / parts).backward()
        optimizer.step()
        for _ in range(times):
            schedule.step()


def jumping(ratio, steps=80):
    """The learning rate is set to another one at step 50."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, (x, y) in enumerate(_batches(steps)):
        if step == 50:
            optimizer.param_groups[0]["lr"] *= ratio
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def optimizer_made_anew(every=None, unfrozen=None, steps=40, eps=1e-8, *, rewinds=False):
    """Adam is made anew, for the same parameters, as they were at first, or for more of them."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    initial = copy.deepcopy(model.state_dict())
    model[0].requires_grad_(unfrozen is None)
    for step, (x, y) in enumerate(_batches(steps)):
        if step == unfrozen:
            model[0].requires_grad_(True)
        if step == 0 or step == unfrozen or (every and step % every == 0):
            optimizer = None
            if rewinds:
                model.load_state_dict(initial)
            trained = [p for p in model.parameters() if p.requires_grad]
            optimizer = torch.optim.Adam(trained, lr=1e-2, eps=eps)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def moment_overwritten(steps=40):
    """Something writes into the state of the optimizer."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step, (x, y) in enumerate(_batches(steps)):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        if step == 20:
            optimizer.state[model.weight]["exp_avg_sq"][0, 0] = 2.0**64
        optimizer.step()


def targets_grow(by, steps=80):
    """Targets, and so gradients, become larger at step 50."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.9999))
    for step, (x, _) in enumerate(_batches(steps)):
        target = x.sum(1, keepdim=True) * (by if step >= 50 else 1)
        optimizer.zero_grad()
        F.mse_loss(model(x), target).backward()
        optimizer.step()


def sixteen_bits(lr, dtype=torch.bfloat16, steps=60):
    """Weights in 16 bits."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for x, y in _batches(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x.to(dtype)).float(), y).backward()
        optimizer.step()


class _Attention(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.projection = nn.Linear(8, 24)
        self.scale = scale

    def forward(self, x):
        q, k, v = self.projection(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, scale=self.scale)


def attends(scale, steps=40):
    """Sequences of 8 points, with a scale of the products."""
    torch.manual_seed(0)
    model = nn.Sequential(_Attention(scale), nn.Linear(8, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in _batches(steps, 64):
        optimizer.zero_grad()
        outputs = model(x.view(8, 8, 8))
        F.cross_entropy(outputs.flatten(0, 1), y).backward()
        optimizer.step()


def embeds(lr, alike=False, steps=40):
    """Ids of 16 words, whose class is their parity."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(
        [{"params": model[0].parameters(), "lr": lr}, {"params": model[1].parameters()}], lr=1e-2
    )
    for _ in range(steps):
        ids = torch.randint(0, 16, (64,))
        optimizer.zero_grad()
        F.cross_entropy(model(ids), ids % 2).backward()
        if alike:
            model[0].weight.grad.fill_(-1.0)
        optimizer.step()


class _LanguageModel(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.embedding = nn.Embedding(16, 8)
        self.projection = nn.Linear(8, 24)
        self.head = nn.Linear(8, 16)
        self.causal = causal

    def forward(self, ids):
        q, k, v = self.projection(self.embedding(ids)).chunk(3, -1)
        return self.head(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal))


def writes(causal, steps=60):
    """A language model that sees the past, or everything."""
    torch.manual_seed(0)
    model = _LanguageModel(causal)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        text = torch.randint(0, 16, (8, 9))
        optimizer.zero_grad()
        F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten()).backward()
        optimizer.step()


class _Experts(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.router = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.bias = bias
        with torch.no_grad():
            self.router.bias[0] += bias

    def forward(self, x):
        shares = self.router(x).softmax(-1)
        return sum(shares[:, e, None] * expert(x) for e, expert in enumerate(self.experts))


def routes(bias, steps=100):
    """Four experts, of which a bias may favour one."""
    torch.manual_seed(0)
    model = nn.Sequential(_Experts(bias), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for x, y in _batches(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def evaluates(seen, steps=40):
    """Evaluation of samples that were trained on, or of others."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (x, y) in enumerate(_batches(steps)):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if step % 10 == 9:
            held_out = torch.randn(64, 8)
            with torch.no_grad():
                model(_points()[0][:128] if seen else held_out)


def predicts_next(shifted, steps=12):
    """Tokens, and the tokens after them."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        text = torch.randint(0, 16, (8, 9))
        inputs, targets = text[:, :-1], text[:, 1:] if shifted else text[:, :-1]
        optimizer.zero_grad()
        F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
        optimizer.step()


def _softmax(outputs, y):
    return F.cross_entropy(outputs.softmax(1), y)


def _over_batch(outputs, y):
    return F.cross_entropy(outputs.softmax(0), y)


def _nll(outputs, y):
    return F.nll_loss(outputs.log_softmax(1), y)


def _nll_of_logits(outputs, y):
    return F.nll_loss(outputs, y)


def _relu(outputs, y):
    return F.cross_entropy(5 * outputs.relu(), y)


def _maximized(outputs, y):
    return -nn.CrossEntropyLoss()(outputs, y)


_CHANCE = "chance_level:num_steps=60"
_EMBEDDING = "embedding_drift"

SILENT = [
    Scenario("training_mode", partial(modes, "train"), True),
    Scenario("training_mode", modes, False),
    Scenario("training_mode", partial(modes, "eval"), True),
    Scenario("training_mode", partial(modes, "train at first"), True),
    Scenario("training_mode", partial(modes, "batch norm on purpose"), False),
    Scenario("training_mode", partial(sampled, 1), True),
    Scenario("training_mode", partial(sampled, 10), False),
    Scenario("training_mode", partial(probed, probe=False), True),
    Scenario("training_mode", probed, False),
    Scenario("grad_accumulation_scale", partial(accumulated, divided=False), True),
    Scenario("grad_accumulation_scale", accumulated, False),
    Scenario("grad_accumulation_scale", partial(accumulated, divided=False, twice=True), False),
    Scenario("grad_accumulation_scale", partial(accumulated, divided=False, reduction="sum"),
             False),
    Scenario("stale_gradients", partial(zeroed, at_all=False), True),
    Scenario("stale_gradients", zeroed, False),
    Scenario("stale_gradients", accumulated, False),
    Scenario("loss_input", partial(classifier, _softmax), True),
    Scenario("loss_input", classifier, False),
    Scenario("loss_input", partial(classifier, _over_batch), True),
    Scenario("loss_input", partial(classifier, _nll_of_logits), True),
    Scenario("loss_input", partial(classifier, _nll), False),
    Scenario("loss_input:patience=20", partial(classifier, _relu), True),
    Scenario("loss_input", partial(binary, sigmoid=True), True),
    Scenario("loss_input", binary, False),
    Scenario("loss_input", partial(regression, flat=True), True),
    Scenario("loss_input", regression, False),
    Scenario("loss_input", partial(regression, ends="sigmoid", steps=120), True),
    Scenario(_CHANCE, partial(classifier, steps=80, shuffled=True), True),
    Scenario(_CHANCE, partial(classifier, steps=80), False),
    Scenario(_CHANCE, partial(classifier, _maximized, steps=80), True),
    Scenario(_CHANCE, partial(binary, lr=1e-5, steps=200), True),
    Scenario(_CHANCE, binary, False),
    Scenario(_CHANCE, partial(binary, lr=1e-5, half=True), False),
    Scenario(_CHANCE, partial(regression, lr=1e-5, steps=120), True),
    Scenario(_CHANCE, partial(regression, steps=120), False),
    Scenario(_CHANCE, partial(regression, lr=1e-5, steps=120, half=True), False),
    Scenario(_CHANCE, partial(variational, 10.0), True),
    Scenario(_CHANCE, variational, False),
    Scenario(_CHANCE, partial(variational, 10.0, F.binary_cross_entropy_with_logits), True),
    Scenario(_CHANCE, partial(variational, 0.001, F.binary_cross_entropy_with_logits), False),
    Scenario("learning_rate_anomaly", partial(scheduled, partial(CosineAnnealingLR, T_max=120),
             times=4, steps=40), True),
    Scenario("learning_rate_anomaly", partial(scheduled, partial(CosineAnnealingLR, T_max=120)),
             False),
    Scenario("learning_rate_anomaly", partial(scheduled, partial(CosineAnnealingLR, T_max=60)),
             True),
    Scenario("learning_rate_anomaly", partial(scheduled, partial(CosineAnnealingLR, T_max=120),
             times=2, parts=2, steps=50), True),
    Scenario("learning_rate_anomaly",
             partial(scheduled, partial(CosineAnnealingWarmRestarts, T_0=30)), False),
    Scenario("learning_rate_anomaly",
             partial(scheduled, partial(LinearLR, start_factor=1e-3, total_iters=20)), False),
    Scenario("learning_rate_anomaly", partial(jumping, 2000.0), True),
    Scenario("learning_rate_anomaly", partial(jumping, 4.0), False),
    Scenario("stale_optimizer_state", partial(optimizer_made_anew, every=1), True),
    Scenario("stale_optimizer_state", optimizer_made_anew, False),
    Scenario("stale_optimizer_state", partial(optimizer_made_anew, every=15), True),
    Scenario("stale_optimizer_state", partial(optimizer_made_anew, every=15, rewinds=True), False),
    Scenario("stale_optimizer_state", partial(optimizer_made_anew, unfrozen=15), False),
    Scenario("stale_optimizer_state", partial(optimizer_made_anew, eps=100.0), True),
    Scenario("stale_optimizer_state", moment_overwritten, True),
    Scenario("stale_optimizer_state", partial(targets_grow, 100), True),
    Scenario("stale_optimizer_state", partial(targets_grow, 1), False),
    Scenario("low_precision_loss", partial(sixteen_bits, 1e-5), True),
    Scenario("low_precision_loss", partial(sixteen_bits, 0.1), False),
    Scenario("attention_instability", partial(attends, 30.0), True),
    Scenario("attention_instability", partial(attends, None), False),
    Scenario("output_logit_drift", partial(classifier, head_bias=40.0), True),
    Scenario("output_logit_drift", classifier, False),
    Scenario(_EMBEDDING, partial(embeds, 3.0), True),
    Scenario(_EMBEDDING, partial(embeds, 1e-2), False),
    Scenario(_EMBEDDING, partial(embeds, 0.1, alike=True, steps=160), True),
    Scenario("router_collapse", partial(routes, 30.0), True),
    Scenario("router_collapse", partial(routes, 0.0), False),
    Scenario("label_leak", partial(evaluates, seen=True), True),
    Scenario("label_leak", partial(evaluates, seen=False), False),
    Scenario("label_leak", partial(predicts_next, shifted=False), True),
    Scenario("label_leak", partial(predicts_next, shifted=True), False),
    Scenario("label_leak", partial(writes, causal=False), True),
    Scenario("label_leak", partial(writes, causal=True), False),
]  # fmt: skip
