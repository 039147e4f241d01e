"""Small diffusion models that are given noise of one step, and of all until then."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from tests.support.rules.setup_programs import Case

STEPS, BATCH = 50, 32


class Schedule:
    """How much of a sample is left at each step."""

    def __init__(self):
        self.alphas = 1 - torch.linspace(1e-4, 0.1, STEPS)
        self.alphas_cumprod = self.alphas.cumprod(0)


class Model(nn.Module):
    """Predicts by a noisy sample and its step."""

    def __init__(self, shape):
        super().__init__()
        width = torch.Size(shape).numel()
        self.shape = shape
        self.step = nn.Embedding(STEPS, 8)
        self.layers = nn.Sequential(
            nn.Linear(width + 8, 32), nn.SiLU(), nn.Linear(32, width), nn.Unflatten(1, shape)
        )

    def forward(self, x, t):
        return self.layers(torch.cat([x.flatten(1), self.step(t)], 1))


def _noised(x, kept, noise):
    kept = kept.view(-1, *(1,) * (x.dim() - 1))
    return kept.sqrt() * x + (1 - kept).sqrt() * noise


def diffuses(kept_of, *, aim="noise", shape=(2,), by_hand=False, knows_products=True):
    """Learn to take noise away.

    Args:
        kept_of: What is left of samples, of a schedule and steps.
        aim: What is predicted.
        by_hand: The loss is written out.
        knows_products: The script keeps the schedule that a sampler goes by.
    """
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model, schedule = Model(shape), Schedule()
    kept_at = partial(kept_of, schedule)
    if not knows_products:
        kept_at = partial(kept_of, Schedule())
        del schedule.alphas_cumprod
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(21):
        samples = 1 + 0.5 * torch.randn(BATCH, *shape, generator=generator)
        at = torch.randint(STEPS, (BATCH,), generator=generator)
        noise = torch.randn(BATCH, *shape, generator=generator)
        if aim in ("uniform noise", "centred noise"):
            noise = torch.rand(BATCH, *shape, generator=generator)
        if aim == "centred noise":
            noise = (2 * noise - 1) * 3**0.5
        if aim == "uniform samples":
            samples = torch.rand(BATCH, *shape, generator=generator)
        kept = kept_at(at)
        predicted = model(_noised(samples, kept, noise), at)
        wide = kept.view(-1, *(1,) * len(shape))
        aims = {
            "noise": noise,
            "uniform noise": noise,
            "centred noise": noise,
            "other noise": torch.randn(BATCH, *shape, generator=generator),
            "samples": samples,
            "uniform samples": samples,
            "velocity": wide.sqrt() * noise - (1 - wide).sqrt() * samples,
        }
        loss = (predicted - aims[aim]).square().mean()
        if not by_hand:
            loss = F.mse_loss(predicted, aims[aim])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Diffusion(nn.Module):
    """Adds noise and computes the loss in its own forward, as one model does for another."""

    def __init__(self, draws_again):
        super().__init__()
        self.model, self.schedule, self.draws_again = Model((1, 4, 4)), Schedule(), draws_again

    def forward(self, x):
        at = torch.randint(STEPS, (len(x),))
        noise = torch.randn_like(x)
        added = torch.randn_like(x) if self.draws_again else noise
        predicted = self.model(_noised(x, self.schedule.alphas_cumprod[at], added), at)
        return F.mse_loss(predicted, noise, reduction="none").flatten(1).mean(1).mean()


def diffuses_inside(*, draws_again):
    torch.manual_seed(0)
    diffusion = Diffusion(draws_again)
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
    for _ in range(21):
        optimizer.zero_grad()
        diffusion(1 + 0.5 * torch.randn(BATCH, 1, 4, 4)).backward()
        optimizer.step()


def samples(keeps, *, aim="noise", every=0, as_share=False, root=0.5):
    """Learn to take noise away, and begin with noise to sample.

    Args:
        keeps: Of each step what the sampler divides by: of all until then, or of one.
        aim: What is predicted; samples by a sampler that draws no noise.
        every: After so many steps of training something is sampled as well.
        as_share: Steps are given as a part of all, in a column.
        root: Which power of the variance of each step noise is multiplied with.
    """
    torch.manual_seed(0)
    schedule = Schedule()
    alphas, kept = schedule.alphas, schedule.alphas_cumprod
    model = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
    model.append(nn.Linear(64, 2))

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = model

        def forward(self, x, t):
            t = t if as_share else t[:, None] / STEPS
            return self.layers(torch.cat([x, t], 1))

    denoiser = Denoiser()
    optimizer = torch.optim.Adam(denoiser.parameters(), lr=3e-3)

    def given(at):
        return at[:, None] / STEPS if as_share else at

    @torch.no_grad()
    def sample():
        x = torch.randn(200, 2)
        for t in reversed(range(STEPS)):
            found = denoiser(x, given(torch.full((200,), t)))
            if aim == "samples":
                noise = (x - kept[t].sqrt() * found) / (1 - kept[t]).sqrt()
                before = kept[t - 1] if t else torch.ones(())
                x = before.sqrt() * found + (1 - before).sqrt() * noise
            else:
                share = (1 - alphas[t]) / (1 - keeps(schedule)[t]).sqrt()
                x = (x - share * found) / alphas[t].sqrt()
                x = x + (1 - alphas[t]) ** root * torch.randn_like(x) * (t > 0)

    for step in range(300):
        angle = 6.3 * torch.rand(64)
        x0 = 1.5 * torch.stack([angle.cos(), angle.sin()], 1)
        at, noise = torch.randint(STEPS, (64,)), torch.randn(64, 2)
        predicted = denoiser(_noised(x0, kept[at], noise), given(at))
        loss = F.mse_loss(predicted, x0 if aim == "samples" else noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if every and step % every == 0:
            sample()
    sample()


def _of_one(schedule, at):
    return schedule.alphas[at]


def _of_all(schedule, at):
    return schedule.alphas_cumprod[at]


def _of_noise(schedule, at):
    return 1 - schedule.alphas_cumprod[at]


SAMPLED = {
    "a sampler that divides by what one step keeps": (
        partial(samples, lambda schedule: schedule.alphas),
        "sampled too small",
    ),
    "a sampler that adds too much noise": (
        partial(samples, lambda schedule: schedule.alphas_cumprod, root=0.25),
        "sampled too large",
    ),
    "the same, by steps as a part of all": (
        partial(samples, lambda schedule: schedule.alphas, as_share=True),
        "sampled too small",
    ),
    "a sampler": (partial(samples, lambda schedule: schedule.alphas_cumprod), ""),
    "one that is asked from the first step on": (
        partial(samples, lambda schedule: schedule.alphas_cumprod, every=50),
        "",
    ),
    "one that draws no noise": (partial(samples, None, aim="samples"), ""),
}

CASES = {
    "noise that the model is not given": Case(
        partial(diffuses, _of_all, aim="other noise", shape=(1, 4, 4)), "other_noise"
    ),
    "noise that is drawn again inside of a model": Case(
        partial(diffuses_inside, draws_again=True), "other_noise"
    ),
    "noise that is drawn once inside of a model": Case(partial(diffuses_inside, draws_again=False)),
    "noise of one step": Case(partial(diffuses, _of_one), "not_cumulative"),
    "the same by hand": Case(partial(diffuses, _of_one, by_hand=True), "not_cumulative"),
    "the same of pictures": Case(partial(diffuses, _of_one, shape=(1, 4, 4)), "not_cumulative"),
    "noise in the place of samples": Case(partial(diffuses, _of_noise), "swapped_noise"),
    "the same by hand, of pictures": Case(
        partial(diffuses, _of_noise, by_hand=True, shape=(1, 4, 4)), "swapped_noise"
    ),
    "uniform noise": Case(partial(diffuses, _of_all, aim="uniform noise"), "uniform_noise"),
    "uniform noise by hand, of pictures": Case(
        partial(diffuses, _of_all, aim="uniform noise", by_hand=True, shape=(1, 4, 4)),
        "uniform_noise",
    ),
    "uniform noise that is centred": Case(partial(diffuses, _of_all, aim="centred noise")),
    "uniform samples are predicted": Case(partial(diffuses, _of_all, aim="uniform samples")),
    "noise of all steps": Case(partial(diffuses, _of_all)),
    "noise of all steps, by hand": Case(partial(diffuses, _of_all, by_hand=True)),
    "noise of all steps, of pictures": Case(partial(diffuses, _of_all, shape=(1, 4, 4))),
    "samples are predicted": Case(partial(diffuses, _of_all, aim="samples")),
    "a velocity is predicted": Case(partial(diffuses, _of_all, aim="velocity")),
    "one level of noise": Case(partial(diffuses, lambda _, at: torch.full((len(at),), 0.9))),
    "little noise, and no sampler": Case(partial(diffuses, _of_one, knows_products=False)),
}
