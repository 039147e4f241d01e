"""Small trainings with smdebug's hook, as old scripts have them.

They run under the real smdebug as well: as a script, this takes a folder and names of trainings and
leaves the run of each in a folder of that name.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import torch
from torch import nn

import smdebug.pytorch as smd

ALL_REDUCTIONS = smd.ReductionConfig(
    reductions=["min", "max", "mean", "std", "variance", "sum", "prod"],
    abs_reductions=["mean", "max"],
    norms=["l1", "l2"],
    abs_norms=["l1", "l2"],
    save_shape=True,
)


class Net(nn.Module):
    """Every kind of name: a module that is called twice, and one inside of another."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(4, 2)
        self.seq = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

    def forward(self, x):
        h = self.act(self.fc1(x))
        h = self.act(h)
        return self.seq(self.fc2(h))


class Pair(nn.Module):
    """Nested tuples and lists in and out."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, pair):
        first, (second, *_) = pair
        out = self.fc(first)
        return out, [self.fc(second), (out * 2, None)]


def train(hook, modes=True):
    """Train ``Net`` for five steps and, with ``modes``, evaluate it for three."""
    torch.manual_seed(0)
    net = Net()
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    hook.register_module(net)
    hook.register_loss(loss)
    hook.save_scalar("before", 3.5)
    if modes:
        hook.set_mode(smd.modes.TRAIN)
    for _ in range(5):
        x = torch.randn(2, 3)
        y = torch.randint(0, 2, (2,))
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()
    if modes:
        hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            for _ in range(3):
                loss(net(torch.randn(2, 3)), torch.randint(0, 2, (2,)))
    hook.save_scalar("after", 7)
    hook.close()
    smd.del_hook()


def modes_saveall(out):
    train(smd.Hook(out, save_config=smd.SaveConfig(save_interval=2), save_all=True))


def default(out):
    train(smd.Hook(out), modes=False)


def reductions_shapes(out):
    hook = smd.Hook(
        out,
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=["weights", "gradients"],
        reduction_config=ALL_REDUCTIONS,
    )
    train(hook, modes=False)


def shapes_only(out):
    hook = smd.Hook(
        out,
        save_config=smd.SaveConfig(save_interval=4),
        include_collections=["weights", "gradients"],
        reduction_config=smd.ReductionConfig(save_shape=True),
    )
    train(hook, modes=False)


def tensorboard(out):
    hook = smd.Hook(
        out,
        save_config=smd.SaveConfig(save_interval=4),
        include_collections=["biases"],
        export_tensorboard=True,
    )
    train(hook, modes=False)


def include_regex(out):
    train(smd.Hook(out, include_regex=["relu|act_output", "fc1.*bias$"]))


def save_steps(out):
    config = smd.SaveConfig(save_interval=100, save_steps=[1, 4])
    train(smd.Hook(out, save_config=config, include_collections=["gradients"]), modes=False)


def windows(out):
    config = {
        smd.modes.TRAIN: smd.SaveConfigMode(save_interval=1, start_step=1, end_step=3),
        smd.modes.EVAL: smd.SaveConfigMode(save_interval=2),
    }
    train(smd.Hook(out, save_config=config, include_collections=["weights", "biases"]))


def own_collections(out):
    hook = smd.Hook(out, include_collections=["often", "seldom", "parts", "losses"])
    often = hook.get_collection("often")
    often.include("fc1")
    often.save_config = smd.SaveConfig(save_interval=1, end_step=4)
    often.reduction_config = smd.ReductionConfig(reductions=["mean"], norms=["l2"])
    hook.add_collection(
        smd.Collection(
            "seldom",
            include_regex=["fc1.weight", "Net_output"],
            save_config=smd.SaveConfig(save_interval=3),
        )
    )
    torch.manual_seed(1)
    net = Net()
    hook.register_module(net)
    parts = hook.get_collection("parts")
    parts.add_module_tensors(net.seq, inputs=True, outputs=True)
    parts.add_module_tensors(net.fc2, inputs=False, outputs=True)
    parts.save_config = smd.SaveConfig(save_interval=2)
    hook.get_collection("losses").save_config = smd.SaveConfig(save_interval=1)
    for _ in range(5):
        prediction = net(torch.randn(2, 3))
        loss = nn.functional.mse_loss(prediction, torch.ones(2, 2))
        hook.record_tensor_value("mse_loss", loss)
        loss.backward()
    hook.close()


def nested(out):
    """Two forwards before one backward, nested values, integers, and two models."""
    torch.manual_seed(2)
    hook = smd.Hook(out, save_config=smd.SaveConfig(save_interval=1), save_all=True)
    one, other, table = Pair(), nn.Linear(2, 1), nn.Embedding(5, 3)
    for module in (one, other, table):
        hook.register_module(module)
    for _ in range(2):
        rows = table(torch.randint(0, 5, (2,)))
        first, (second, (third, _)) = one((rows, [torch.randn(2, 3), "text"]))
        (other(first).sum() + other(second).sum() + third.sum()).backward()
    hook.close()


def custom_tensors(out):
    """Tensors of the script's own, saved where the step is saved."""
    torch.manual_seed(3)
    hook = smd.Hook(out, save_config=smd.SaveConfig(save_interval=2), include_collections=["mine"])
    hook.get_collection("mine").include("^mine")

    class Noted(Net):
        def forward(self, x):
            hook.save_tensor("mine/x", x, collections_to_write=["mine"])
            hook.save_tensor("numbers", [1.5, 2.5], collections_to_write="default")
            return super().forward(x)

    net = Noted()
    hook.register_module(net)
    for _ in range(3):
        net(torch.randn(2, 3)).sum().backward()
    hook.close()


def from_json(out):
    """The JSON that SageMaker writes."""
    file = Path(out + ".json")
    document = {
        "LocalPath": out,
        "HookParameters": {"save_interval": "2", "include_workers": "all"},
        "CollectionConfigurations": [
            {"CollectionName": "gradients", "CollectionParameters": {"reductions": "mean,abs_max"}},
            {"CollectionName": "relu", "CollectionParameters": {"include_regex": "act.*output"}},
        ],
    }
    file.write_text(json.dumps(document))
    train(smd.Hook.create_from_json_file(str(file)))


def _of_rank(rank, size, out, include_workers, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    hook = smd.Hook(
        out,
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=["weights", "gradients", "losses"],
        include_workers=include_workers,
    )
    torch.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    loss = nn.MSELoss()
    hook.register_module(net)
    hook.register_loss(loss)
    torch.distributed.barrier()
    for _ in range(3):
        loss(net(torch.ones(1, 2) * (rank + 1)), torch.ones(1, 2)).backward()
    torch.distributed.barrier()
    hook.close()
    torch.distributed.destroy_process_group()


def _ddp(out, include_workers):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.start_processes(
        _of_rank, args=(2, out, include_workers, port), nprocs=2, start_method="spawn"
    )


def ddp_one(out):
    _ddp(out, "one")


def ddp_all(out):
    _ddp(out, "all")


TRAININGS = {
    one.__name__: one
    for one in (
        *(modes_saveall, default, reductions_shapes, shapes_only, tensorboard, include_regex),
        *(save_steps, windows, own_collections, nested, custom_tensors, from_json),
        *(ddp_one, ddp_all),
    )
}

if __name__ == "__main__":
    for name in sys.argv[2:]:
        TRAININGS[name](os.path.join(sys.argv[1], name))
        smd.del_hook()
