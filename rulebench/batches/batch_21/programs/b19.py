"""Shape classification with a small CNN: circle, square, triangle, cross."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split

SHAPES = ["circle", "square", "triangle", "cross"]


class ShapeDataset(Dataset):
    def __init__(self, n, size=20, seed=0, transform=None):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[:size, :size].astype(np.float32)
        self.images, self.labels = [], []
        for _ in range(n):
            label = int(rng.integers(4))
            cx, cy = rng.uniform(7, size - 7, 2)
            r = rng.uniform(4, 6.5)
            dx, dy = xx - cx, yy - cy
            if label == 0:
                m = dx**2 + dy**2 < r**2
            elif label == 1:
                m = np.maximum(abs(dx), abs(dy)) < r * 0.85
            elif label == 2:
                m = (dy < r * 0.7) & (dy > -r + 2 * abs(dx) - 0.3)
            else:
                m = (np.minimum(abs(dx), abs(dy)) < r * 0.3) & (np.maximum(abs(dx), abs(dy)) < r)
            img = np.where(m, rng.uniform(0.6, 1.0), 0.2) + rng.normal(0, 0.2, (size, size))
            self.images.append(img.astype(np.float32))
            self.labels.append(label)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = torch.from_numpy(self.images[i]).unsqueeze(0)
        img = (img - 0.4) / 0.35
        if self.transform is not None:
            img = self.transform(img)
        return img, self.labels[i]


class SmallCNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(32, n_classes))

    def forward(self, x):
        return self.classifier(self.features(x))


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    loss_sum = correct = seen = 0
    with torch.set_grad_enabled(training):
        for images, labels in loader:
            logits = model(images)
            loss = criterion(logits, labels)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(labels)
            correct += (logits.argmax(1) == labels).sum().item()
            seen += len(labels)
    return loss_sum / seen, correct / seen


def main():
    torch.manual_seed(0)
    train_set, val_set = random_split(ShapeDataset(1500, seed=0), [1200, 300])
    test_set = ShapeDataset(400, seed=99)
    train_loader = DataLoader(train_set, batch_size=40, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=100)
    test_loader = DataLoader(test_set, batch_size=100)

    model = SmallCNN(len(SHAPES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.4)
    for epoch in range(10):
        train_loss, train_acc = run_epoch(model, train_loader, criterion, optimizer)
        val_loss, val_acc = run_epoch(model, val_loader, criterion)
        scheduler.step()
        print(f"epoch {epoch + 1:2d} train {train_loss:.4f}/{train_acc:.3f} val {val_loss:.4f}/{val_acc:.3f}")
    print("test loss/acc: %.4f %.4f" % run_epoch(model, test_loader, criterion))


if __name__ == "__main__":
    main()
