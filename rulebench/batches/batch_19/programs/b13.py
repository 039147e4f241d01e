import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset


class DigitImages(Dataset):
    def __init__(self, images, labels, train):
        self.x = torch.tensor(images, dtype=torch.float32).unsqueeze(1) / 16.0
        self.x = (self.x - 0.305) / 0.376
        self.y = torch.tensor(labels)
        self.train = train

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = self.x[i]
        if self.train:
            # random shift by one pixel
            dx, dy = torch.randint(-1, 2, (2,)).tolist()
            img = torch.roll(img, shifts=(dx, dy), dims=(1, 2))
        return img, self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 16, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def train_one_epoch(model, loader, criterion, optimizer, scheduler):
    model.train()
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(targets)
    return total / len(loader.dataset)


def evaluate(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for inputs, targets in loader:
            hits += (model(inputs).argmax(1) == targets).sum().item()
    return hits / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    d = load_digits()
    xa, xb, ya, yb = train_test_split(d.images, d.target, test_size=0.25, stratify=d.target, random_state=0)
    train_loader = DataLoader(DigitImages(xa, ya, True), batch_size=64, shuffle=True)
    test_loader = DataLoader(DigitImages(xb, yb, False), batch_size=200)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    epochs = 7
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, epochs=epochs,
                                              steps_per_epoch=len(train_loader))
    for epoch in range(epochs):
        loss = train_one_epoch(model, train_loader, criterion, optimizer, scheduler)
        print(f"[{epoch + 1}/{epochs}] loss {loss:.4f} test accuracy {evaluate(model, test_loader):.4f}")
