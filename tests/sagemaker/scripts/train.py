"""Trains a small classifier, in the manner and with the fault that its parameters ask for."""

import argparse
import json
import os
import sys
import time

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.relu = nn.ReLU()
        self.last = nn.Linear(16, 4)

    def forward(self, values):
        return self.last(self.relu(self.hidden(values)))


def parameters():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--spoil", type=int, default=-1, help="the step whose batch is nan")
    parser.add_argument("--zeros", type=int, default=0, help="1 for weights of nothing but zeros")
    parser.add_argument("--fail", type=int, default=-1, help="the step at which it fails")
    parser.add_argument("--pause", type=float, default=0, help="seconds after each step")
    return parser.parse_known_args()[0]  # estimators of TensorFlow add one of their own


def main():
    told = parameters()
    torch.manual_seed(0)
    model = Classifier()
    if told.zeros:
        for parameter in model.parameters():
            nn.init.zeros_(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=told.learning_rate)
    criterion = nn.CrossEntropyLoss()
    values, labels = torch.randn(32, 8), torch.randint(0, 4, (32,))
    for step in range(told.steps):
        optimizer.zero_grad()
        batch = values * float("nan") if step == told.spoil else values
        loss = criterion(model(batch), labels)
        if step == told.fail:
            raise RuntimeError(f"step {step} cannot be done")
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}", flush=True)
        time.sleep(told.pause)
    torch.save(model.state_dict(), os.path.join(os.environ["SM_MODEL_DIR"], "model.pt"))
    with open(os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "told.json"), "w") as file:
        json.dump({**vars(told), "arguments": sys.argv[1:]}, file)


if __name__ == "__main__":
    main()
