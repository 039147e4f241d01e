"""Reptile meta-learning on sine regression."""
import copy
import math
import numpy as np
import torch
import torch.nn as nn

INNER_LR, META_LR, INNER_STEPS, SHOTS, META_ITERS = 0.02, 0.5, 8, 20, 900


class SineTask:
    def __init__(self, rng):
        self.amp, self.phase = rng.uniform(0.5, 3.0), rng.uniform(0, math.pi)

    def sample(self, n, rng):
        x = torch.tensor(rng.uniform(-4, 4, (n, 1)), dtype=torch.float32)
        return x, self.amp * torch.sin(x + self.phase)


def make_model():
    return nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))


def adapt(model, x, y, steps):
    for _ in range(steps):
        loss = (model(x) - y).pow(2).mean()
        grads = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), grads):
                p -= INNER_LR * g
    return loss.item()


def meta_eval(model, seed=123, tasks=30):
    rng, before, after = np.random.default_rng(seed), [], []
    for _ in range(tasks):
        task = SineTask(rng)
        x, y = task.sample(SHOTS, rng)
        xq, yq = task.sample(100, rng)
        m = copy.deepcopy(model)
        with torch.no_grad():
            before.append((m(xq) - yq).pow(2).mean().item())
        adapt(m, x, y, 32)
        with torch.no_grad():
            after.append((m(xq) - yq).pow(2).mean().item())
    return np.mean(before), np.mean(after)


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = make_model()
    print("untrained: before %.3f after %.3f" % meta_eval(model))
    for it in range(META_ITERS):
        task = SineTask(rng)
        fast = copy.deepcopy(model)
        loss = adapt(fast, *task.sample(SHOTS, rng), INNER_STEPS)
        step = META_LR * (1 - it / META_ITERS)
        with torch.no_grad():
            for p, q in zip(model.parameters(), fast.parameters()):
                p += step * (q - p)
        if (it + 1) % 150 == 0:
            b, a = meta_eval(model)
            print(f"iter {it + 1} inner loss {loss:.3f} | new tasks before {b:.3f} after {a:.3f}")


if __name__ == "__main__":
    main()
