"""Semi-supervised two moons with a dozen labels: mean teacher with a consistency loss."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import torch
import keras
from keras import layers
from sklearn.datasets import make_moons


def net(width):
    return keras.Sequential([
        layers.Input((2,)),
        layers.Dense(width, activation="relu"),
        layers.Dense(width, activation="relu"),
        layers.Dense(2),
    ])


def ramp(step, total):
    return float(np.exp(-5 * (1 - min(step / total, 1.0)) ** 2))


class MeanTeacher:
    def __init__(self, args):
        self.args = args
        self.student, self.teacher = net(args.width), net(args.width)
        self.teacher.set_weights(self.student.get_weights())
        self.teacher.trainable = False
        self.opt = torch.optim.Adam(self.student.parameters(), lr=args.lr)
        self.ce = torch.nn.CrossEntropyLoss()
        self.step_no = 0

    def jitter(self, x):
        return x + self.args.noise * torch.randn_like(x)

    @torch.no_grad()
    def update_teacher(self):
        a = min(1 - 1 / (self.step_no + 1), self.args.ema)
        for tp, sp in zip(self.teacher.weights, self.student.weights):
            tp.value.mul_(a).add_(sp.value, alpha=1 - a)

    def train_step(self, xl, yl, xu):
        self.opt.zero_grad()
        sup = self.ce(self.student(self.jitter(xl)), yl)
        with torch.no_grad():
            target = torch.softmax(self.teacher(self.jitter(xu)), -1)
        cons = ((torch.softmax(self.student(self.jitter(xu)), -1) - target) ** 2).mean()
        w = self.args.weight * ramp(self.step_no, self.args.steps // 3)
        (sup + w * cons).backward()
        self.opt.step()
        self.step_no += 1
        self.update_teacher()
        return sup.item(), cons.item()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(-1) == y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--labels", type=int, default=12)
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--width", type=int, default=64)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--noise", type=float, default=0.12)
    ap.add_argument("--weight", type=float, default=20.0)
    ap.add_argument("--ema", type=float, default=0.98)
    args = ap.parse_args()

    keras.utils.set_random_seed(1)
    torch.manual_seed(1)
    x, y = make_moons(3000, noise=0.1, random_state=1)
    x = torch.tensor((x - x.mean(0)) / x.std(0), dtype=torch.float32)
    y = torch.tensor(y)
    half = args.labels // 2
    lab = torch.cat([torch.where(y[:1500] == c)[0][:half] for c in (0, 1)])
    xl, yl, xu, xt, yt = x[lab], y[lab], x[:1500], x[1500:], y[1500:]

    mt = MeanTeacher(args)
    for step in range(args.steps):
        idx = torch.randint(0, len(xu), (128,))
        sup, cons = mt.train_step(xl, yl, xu[idx])
        if step % 250 == 249:
            print(f"step {step + 1} sup {sup:.4f} cons {cons:.5f} "
                  f"student {accuracy(mt.student, xt, yt):.4f} teacher {accuracy(mt.teacher, xt, yt):.4f}")
    print("final teacher accuracy %.4f" % accuracy(mt.teacher, xt, yt))


if __name__ == "__main__":
    main()
