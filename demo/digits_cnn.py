"""Train a small convolutional network on scikit-learn's handwritten digits.

An ordinary PyTorch script: 1,797 images of 8 x 8 pixels, ten classes, a few seconds on a laptop.

    python demo/digits_cnn.py
    python demo/digits_cnn.py --fault learning-rate
"""

from __future__ import annotations

import argparse
import time

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DigitsCNN(nn.Module):
    """Two convolutions, two linear layers; input ``[batch, 1, 8, 8]``, output ``[batch, 10]``."""

    def __init__(self, dropout: float = 0.3) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(32 * 4 * 4, 64),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(64, 10),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(images))


def load_data(batch_size: int, seed: int) -> tuple[DataLoader, DataLoader]:
    """Return batches of the training and of the validation images, pixels scaled to 0..1."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        torch.tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8),
        torch.tensor(labels, dtype=torch.int64),
        test_size=360,
        stratify=labels,
        random_state=seed,
    )
    train_images, val_images, train_labels, val_labels = parts
    train = DataLoader(
        TensorDataset(train_images, train_labels), batch_size, shuffle=True, drop_last=True
    )
    return train, DataLoader(TensorDataset(val_images, val_labels), batch_size=120)


def train_epoch(
    model: nn.Module,
    batches: DataLoader,
    criterion: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> float:
    """Take one optimizer step per batch and return the mean loss."""
    model.train()
    total = 0.0
    for images, labels in batches:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


@torch.no_grad()
def validate(model: nn.Module, batches: DataLoader, criterion: nn.Module) -> tuple[float, float]:
    """Return the mean loss and the accuracy."""
    model.eval()
    total, correct, seen = 0.0, 0, 0
    for images, labels in batches:
        logits = model(images)
        total += criterion(logits, labels).item()
        correct += int((logits.argmax(dim=1) == labels).sum())
        seen += len(labels)
    return total / len(batches), correct / seen


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--fault",
        choices=["none", "learning-rate"],
        default="none",
        help="learning-rate: make it a hundred times too large",
    )
    return parser.parse_args()


def main() -> None:
    args = parse_arguments()
    torch.manual_seed(args.seed)
    train_batches, val_batches = load_data(args.batch, args.seed)
    model = DigitsCNN()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    lr = args.lr * 100 if args.fault == "learning-rate" else args.lr
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    started = time.perf_counter()
    for epoch in range(args.epochs):
        train_loss = train_epoch(model, train_batches, criterion, optimizer)
        val_loss, accuracy = validate(model, val_batches, criterion)
        print(
            f"epoch {epoch + 1:3d}  step {(epoch + 1) * len(train_batches):4d}  "
            f"train loss {train_loss:.4f}  val loss {val_loss:.4f}  val accuracy {accuracy:.1%}",
            flush=True,
        )
    print(f"trained in {time.perf_counter() - started:.1f} s, val accuracy {accuracy:.1%}")


if __name__ == "__main__":
    main()
