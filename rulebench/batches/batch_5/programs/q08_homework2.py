# CS homework 2: train an MLP on the digits data with SGD + momentum
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(42)
np.random.seed(42)

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.data.astype(np.float32) / 16.0, digits.target, test_size=0.25, random_state=42)

train_loader = DataLoader(TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train)),
                          batch_size=64, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(64, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

for epoch in range(20):
    running_loss = 0.0
    for inputs, labels in train_loader:
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print('Epoch %d, loss: %.4f' % (epoch + 1, running_loss / len(train_loader)))

with torch.no_grad():
    pred = net(torch.from_numpy(X_test)).argmax(dim=1)
print('Test accuracy: %.2f %%' % (100.0 * (pred.numpy() == y_test).mean()))
