"""Runs a training script unchanged under another tool: python others.py TOOL script.py --steps N.

TOOL is wandb, wandb-watch, trackio or tensorboard. Each logs the loss and the norm of the gradients
at each step of a torch optimizer; what is not trained by torch.optim gets nothing logged.
"""

import contextlib
import gc
import os
import runpy
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook


def model_of(optimizer):
    """The largest module of which the optimizer holds each parameter, the outermost of equals."""
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    best, best_size = None, (0, 0)
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.nn.Module):
            own = {id(p) for p in thing.parameters()}
            size = len(own), sum(1 for _ in thing.modules())
            if own <= held and own and size > best_size:
                best, best_size = thing, size
    return best


class Tool:
    """What all tools have in common: the loss, the norm of the gradients and the count of steps."""

    def __init__(self):
        self.step, self.loss, self.models = 0, None, {}
        backward, make = torch.Tensor.backward, torch.optim.Optimizer.__init__

        def backward_keeping_the_loss(tensor, *args, **kwargs):
            self.loss = tensor.detach()
            return backward(tensor, *args, **kwargs)

        def make_and_find_the_model(optimizer, *args, **kwargs):
            make(optimizer, *args, **kwargs)
            self.models[id(optimizer)] = model = model_of(optimizer)
            if model is not None and len(self.models) == 1:
                self.start(model)

        torch.Tensor.backward = backward_keeping_the_loss
        torch.optim.Optimizer.__init__ = make_and_find_the_model
        register_optimizer_step_post_hook(self.after_step)

    def start(self, model):
        pass

    def after_step(self, optimizer, args, kwargs):  # noqa: ARG002
        self.step += 1
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        values = {"grad_norm": torch.nn.utils.get_total_norm(grads).item()}
        if self.loss is not None and self.loss.numel() == 1:
            values["loss"] = self.loss.item()
        self.log(values)


class Wandb(Tool):
    def __init__(self, folder):
        import wandb

        super().__init__()
        self.wandb = wandb
        settings = wandb.Settings(silent=True)
        wandb.init(project="whole", mode="offline", dir=folder, settings=settings)

    def log(self, values):
        self.wandb.log(values)

    def close(self):
        self.wandb.finish()


class WandbWatch(Wandb):
    def start(self, model):
        self.wandb.watch(model, log="all", log_freq=1)


class Trackio(Tool):
    def __init__(self, folder):
        os.environ["TRACKIO_DIR"] = folder
        import trackio

        super().__init__()
        self.trackio = trackio
        trackio.init(project="whole")

    def log(self, values):
        self.trackio.log(values)

    def close(self):
        self.trackio.finish()


class TensorBoard(Tool):
    def __init__(self, folder):
        from torch.utils.tensorboard import SummaryWriter

        super().__init__()
        self.writer = SummaryWriter(folder)

    def log(self, values):
        for name, value in values.items():
            self.writer.add_scalar(name, value, self.step)

    def after_step(self, optimizer, args, kwargs):
        super().after_step(optimizer, args, kwargs)
        model = self.models.get(id(optimizer))
        if self.step % 10 == 0 and model is not None:
            for name, parameter in model.named_parameters():
                self.writer.add_histogram(name, parameter, self.step)
                if parameter.grad is not None:
                    self.writer.add_histogram(f"{name}.grad", parameter.grad, self.step)

    def close(self):
        self.writer.close()


TOOLS = {
    "wandb": Wandb,
    "wandb-watch": WandbWatch,
    "trackio": Trackio,
    "tensorboard": TensorBoard,
}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in TOOLS:
        sys.exit(f"usage: python others.py {{{','.join(TOOLS)}}} script.py --steps N")
    name, script, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        try:
            tool = TOOLS[name](folder)
        except ImportError as error:
            sys.exit(f"{name} cannot be used: {error}")
        started = time.perf_counter()
        sys.argv = [script, *arguments]
        sys.path.insert(0, str(Path(script).resolve().parent))
        try:
            runpy.run_path(script, run_name="__main__")
        finally:
            ended = time.perf_counter()
            with contextlib.redirect_stdout(sys.stderr):  # the script's last line stays the last
                tool.close()
        size = sum(
            os.path.getsize(os.path.join(at, f)) for at, _, fs in os.walk(folder) for f in fs
        )
    started, closed = started - begin, time.perf_counter() - ended
    print(
        f"{name}: {tool.step} steps logged, {size} bytes, "
        f"starting took {started:.2f} s, closing {closed:.2f} s",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
