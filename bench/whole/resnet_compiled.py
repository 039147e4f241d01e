"""Trains a narrow ResNet-18 on small synthetic images through torch.compile."""

import argparse
import shutil
import time

import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, 1, stride=stride, bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, width=16, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        layers, planes = [], width
        for i in range(4):
            out_planes = width * 2**i
            layers += [
                BasicBlock(planes, out_planes, stride=1 if i == 0 else 2),
                BasicBlock(out_planes, out_planes),
            ]
            planes = out_planes
        self.layers = nn.Sequential(*layers)
        self.linear = nn.Linear(planes, num_classes)

    def forward(self, x):
        out = self.layers(F.relu(self.bn1(self.conv1(x))))
        return self.linear(F.adaptive_avg_pool2d(out, 1).flatten(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100, help="optimizer steps")
    parser.add_argument("--eager", action="store_true", help="do not compile the model")
    args = parser.parse_args()

    torch.manual_seed(0)
    labels = torch.randint(0, 10, (1024,))
    colours = torch.randn(10, 3, 4, 4)
    images = F.interpolate(colours[labels], size=32) + 0.5 * torch.randn(1024, 3, 32, 32)

    net = ResNet18()
    if not args.eager:
        compiler = shutil.which("g++") or shutil.which("clang++")
        net = torch.compile(net, backend="inductor" if compiler else "aot_eager")
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)

    warmup = max(1, min(20, args.steps // 10))
    start = time.perf_counter()
    net.train()
    for step in range(args.steps):
        if step == warmup:
            start = time.perf_counter()
        batch = torch.randint(0, len(images), (24,))
        optimizer.zero_grad()
        loss = criterion(net(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        if (step + 1) % 10 == 0:
            print(f"step {step + 1}: loss {loss.item():.3f}")

    elapsed = time.perf_counter() - start
    print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={loss.item()!r}")


if __name__ == "__main__":
    main()
