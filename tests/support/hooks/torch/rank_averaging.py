"""Small trainings whose processes average gradients, or do not; each process runs this file.

``python rank_averaging.py FOLDER NAME ...`` with RANK and WORLD_SIZE set, as launchers do. A run
is at ``FOLDER/NAME``. With ``plain NAME`` for names it trains without a hook of its own.
"""

from __future__ import annotations

import math
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as Wrapper
from torch.utils.checkpoint import checkpoint

from stepwatch import TorchHook

STEPS = 12
#: The step at which what goes wrong later than at the first step does.
LATE = 6
MAX_NORM = 0.05
#: Steps of a training that somebody else ends.
MOST = 100_000


class Net(nn.Module):
    """Two layers, of which the first may be computed anew for its gradients.

    Args:
        anew: Whether it is.
        spare: Whether there is a layer that nobody uses.
    """

    def __init__(self, *, anew=False, spare=False):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.head = nn.Linear(4, 6), nn.Linear(6, 1)
        self.anew = anew
        if spare:
            self.spare = nn.Linear(2, 2)

    def forward(self, x):
        body = self.body
        hidden = checkpoint(body, x, use_reentrant=False) if self.anew else body(x)
        more = self.added(x) if hasattr(self, "added") else 0.0
        return self.head(torch.tanh(hidden)) + more


def batch(step):
    """Return the input of this process at a step."""
    generator = torch.Generator().manual_seed(1000 * step + dist.get_rank())
    return torch.randn(6, 4, generator=generator)


def loss_of(model, x):
    return F.mse_loss(model(x), x.sum(dim=1, keepdim=True))


def descent(*models):
    return torch.optim.SGD([p for model in models for p in model.parameters()], lr=0.05)


def average(tensors):
    """Make tensors the mean of those of all processes."""
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor /= dist.get_world_size()


def fit(model, called=None, optimizer=None, *, steps=STEPS, before=None, after=None):
    """Train as scripts do.

    Args:
        model: What is trained.
        called: What is called in a step; what is trained by default.
        before: Called before each step of the optimizer with its number, ``after`` after it.
    """
    optimizer = optimizer or descent(model)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of((called or (lambda _: model))(step), batch(step)).backward()
        if before is not None:
            before(step)
        optimizer.step()
        if after is not None:
            after(step)


# Nothing is wrong


def wrapped():
    fit(Wrapper(Net()))


def static_graph():
    fit(Wrapper(Net(), static_graph=True))


def checkpointed():
    fit(Wrapper(Net(anew=True)))


def unused():
    """A layer has no gradient, and the wrapper looks for such."""
    fit(Wrapper(Net(spare=True), find_unused_parameters=True))


def accumulated():
    """Only the last of three micro-batches is averaged, with those before it."""
    model = Wrapper(Net())
    optimizer = descent(model)
    for step in range(STEPS):
        for part in range(3):
            with nullcontext() if part == 2 else model.no_sync():
                loss_of(model, batch(3 * step + part)).backward()
        optimizer.step()
        optimizer.zero_grad()


def accumulated_by_attribute():
    """The same by the attribute that ``no_sync`` sets."""
    model = Wrapper(Net())
    optimizer = descent(model)
    for step in range(STEPS):
        for part in range(3):
            model.require_backward_grad_sync = part == 2
            loss_of(model, batch(3 * step + part)).backward()
        optimizer.step()
        optimizer.zero_grad()


def local_sgd():
    """Nobody averages gradients; every eighth step the parameters are averaged."""
    model = Net()

    def after(step):
        if step % 8 == 7:
            average([parameter.data for parameter in model.parameters()])

    fit(model, steps=40, after=after)


def local_sgd_in_wrapper():
    """The same with a model that is wrapped and never averages."""
    model = Wrapper(Net())

    def after(step):
        if step % 8 == 7:
            average([parameter.data for parameter in model.parameters()])

    with model.no_sync():
        fit(model, steps=40, after=after)


def post_local_sgd():
    """Gradients are averaged at first, later parameters every fourth step."""
    model = Wrapper(Net())
    own = dist.new_subgroups(1)[0]
    state = PostLocalSGDState(dist.group.WORLD, own, 6, post_local_gradient_allreduce=False)
    model.register_comm_hook(state, post_localSGD_hook)
    averager = PeriodicModelAverager(period=4, warmup_steps=6)
    fit(model, steps=30, after=lambda _: averager.average_parameters(model.parameters()))


def by_hand():
    """The script averages, and knows no wrapper."""
    model = Net()
    fit(model, before=lambda _: average([p.grad for p in model.parameters()]))


def by_hand_at_once():
    """The same with all of them in one tensor."""
    model = Net()

    def before(_):
        gradients = [p.grad for p in model.parameters()]
        flat = torch.cat([one.flatten() for one in gradients])
        average([flat])
        sizes = [one.numel() for one in gradients]
        for gradient, mean in zip(gradients, flat.split(sizes), strict=True):
            gradient.copy_(mean.view_as(gradient))

    fit(model, before=before)


def parameters_by_hand():
    """Parameters are averaged before each update, which each process does by its own gradients."""
    model = Net()
    fit(model, before=lambda _: average([p.data for p in model.parameters()]))


def losses_by_hand():
    """Local SGD whose processes tell each other losses and norms."""
    model = Net()

    def before(step):
        average([p.grad.norm() for p in model.parameters()])
        if step % 8 == 7:
            average([p.data for p in model.parameters()])

    fit(model, steps=40, before=before)


def by_hand_in_wrapper():
    """The wrapper makes the replicas the same, and the script averages gradients."""
    model = Wrapper(Net())
    inside = model.module
    fit(model, lambda _: inside, before=lambda _: average([p.grad for p in model.parameters()]))


def evaluated():
    """Without gradients the model inside may be called."""
    model = Wrapper(Net())

    def after(step):
        model.eval()
        with torch.no_grad():
            loss_of(model.module, batch(100 + step))
        model.train()

    fit(model, after=after)


def two_models():
    """Of two wrapped models one is never stepped, and the other is in turns."""
    maker, critic = Wrapper(nn.Linear(4, 4)), Wrapper(Net())
    optimizers = descent(maker), descent(critic)
    for step in range(STEPS):
        optimizers[1].zero_grad()
        loss_of(critic, batch(step)).backward()
        optimizers[1].step()
        if step % 2:
            F.softplus(critic(maker(batch(step)))).mean().backward()


def together():
    """Two models, two optimizers: both gradients, then both steps."""
    models = Wrapper(nn.Linear(4, 1)), Wrapper(Net())
    optimizers = [descent(model) for model in models]
    for step in range(STEPS):
        for model, optimizer in zip(models, optimizers, strict=True):
            optimizer.zero_grad()
            loss_of(model, batch(step)).backward()
        for optimizer in optimizers:
            optimizer.step()


def wrapped_anew():
    """A second wrapper takes the place of the first."""
    first = Wrapper(Net())
    second = Wrapper(first.module)
    del first
    fit(second)


# Something is


def bypassed():
    """The loop calls the model inside of the wrapper."""
    model = Wrapper(Net())
    fit(model, lambda _: model.module)


def bypassed_later():
    """The same from a step on."""
    model = Wrapper(Net())
    fit(model, lambda step: model if step < LATE else model.module)


def unwrapped():
    """Nobody holds the wrapper any more."""
    fit(Wrapper(Net()).module)


def bypassed_until_said():
    """The same until there is a file, which all processes see at one step."""
    model = Wrapper(Net())
    optimizer = descent(model)
    for step in range(MOST):
        over = torch.tensor(float((Path(sys.argv[1]) / "over").exists()))
        dist.all_reduce(over, dist.ReduceOp.MAX)
        if over:
            break
        optimizer.zero_grad()
        loss_of(model.module, batch(step)).backward()
        optimizer.step()


def one_bypassed():
    """Of two models one is called by its wrapper."""
    models = Wrapper(nn.Linear(4, 4)), Wrapper(Net())
    optimizer = descent(*models)
    for step in range(STEPS):
        optimizer.zero_grad()
        x = batch(step)
        F.mse_loss(models[1].module(models[0](x)), x.sum(dim=1, keepdim=True)).backward()
        optimizer.step()


def added():
    """A layer comes into the model after that was wrapped."""
    model = Wrapper(Net())
    model.module.added = nn.Linear(4, 1)
    average([parameter.data for parameter in model.module.added.parameters()])
    fit(model)


def replaced():
    """The last layer is another one after the model was wrapped."""
    model = Wrapper(Net(), find_unused_parameters=True)
    torch.manual_seed(1)
    model.module.head = nn.Linear(6, 1)
    fit(model)


def unfrozen():
    """A layer was frozen while the model was wrapped."""
    net = Net()
    net.body.requires_grad_(False)
    model = Wrapper(net)
    net.body.requires_grad_(True)
    fit(model)


def skipped():
    """One process leaves an update out."""
    model = Wrapper(Net())
    optimizer = descent(model)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(model, batch(step)).backward()
        if dist.get_rank() == 1 and step == LATE:
            optimizer.zero_grad()
        optimizer.step()


def never_wrapped():
    fit(Net(), steps=60)


def discarded():
    """What is averaged is a copy, and is thrown away."""
    model = Net()
    fit(model, before=lambda _: average([p.grad / 1 for p in model.parameters()]))


def discarded_at_once():
    """The same of all in one tensor."""
    model = Net()
    fit(
        model, before=lambda _: average([torch.cat([p.grad.flatten() for p in model.parameters()])])
    )


# Gradients in parts


def sharded():
    model = Net()
    for layer in (model.body, model.head):
        fully_shard(layer)
    return fully_shard(model)


def clipped_parts(clip):
    """Train a model of which each process holds a part, with gradients that are clipped."""
    model = sharded()
    fit(model, None, torch.optim.AdamW(model.parameters(), lr=0.01), before=lambda _: clip(model))


def gradient_parts(model):
    return [parameter.grad.to_local() for parameter in model.parameters()]


def clipped():
    clipped_parts(lambda model: nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM))


def clipped_by_hand():
    """By the norm of all parts."""

    def clip(model):
        parts = gradient_parts(model)
        square = torch.stack([part.square().sum() for part in parts]).sum()
        dist.all_reduce(square)
        for part in parts:
            part.mul_(min(1.0, MAX_NORM / (math.sqrt(square) + 1e-6)))

    clipped_parts(clip)


def clipped_with_own_norm():
    """Each process gives torch the norm of what it holds."""

    def clip(model):
        norm = nn.utils.get_total_norm(gradient_parts(model))
        nn.utils.clip_grads_with_norm_(list(model.parameters()), MAX_NORM, norm)

    clipped_parts(clip)


def clipped_by_own_hand():
    """Each process scales what it holds by the norm of that."""

    def clip(model):
        parts = gradient_parts(model)
        norm = nn.utils.get_total_norm(parts)
        for part in parts:
            part.mul_(min(1.0, MAX_NORM / (float(norm) + 1e-6)))

    clipped_parts(clip)


def added_to_parts():
    """A layer comes into a model that is in parts, and is whole in each process."""
    model = sharded()
    model.added = nn.Linear(4, 1)
    average([parameter.data for parameter in model.added.parameters()])
    fit(model)


def main():
    folder, *names = Path(sys.argv[1]), *sys.argv[2:]
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=size)
    plain = names[0] == "plain"
    for name in names[plain:]:
        hook = (
            nullcontext()
            if plain
            else TorchHook(run=folder / name, say=lambda _: None, strict=True)
        )
        with hook:
            globals()[name]()
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
