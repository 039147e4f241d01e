import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

SEED = 6
torch.manual_seed(SEED)
np.random.seed(SEED)

iris = load_iris()
X_train, X_test, y_train, y_test = train_test_split(
    iris.data, iris.target, test_size=0.3, random_state=SEED, stratify=iris.target)
mean, std = X_train.mean(0), X_train.std(0)
X_train = (X_train - mean) / std
X_test = (X_test - mean) / std

train_x = Variable(torch.from_numpy(X_train).float())
train_y = Variable(torch.from_numpy(y_train).long())
test_x = Variable(torch.from_numpy(X_test).float())
test_y = Variable(torch.from_numpy(y_test).long())


class Net(nn.Module):

    def __init__(self):
        super(Net, self).__init__()
        self.hidden = nn.Linear(4, 20)
        self.predict = nn.Linear(20, 3)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        x = self.predict(x)
        return x


net = Net()
print(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()

batch_size = 15
for epoch in range(100):
    order = torch.randperm(len(train_x))
    epoch_loss = 0
    for i in range(0, len(train_x), batch_size):
        batch_x = train_x[order[i:i + batch_size]]
        batch_y = train_y[order[i:i + batch_size]]

        output = net(batch_x)
        loss = Variable(criterion(output, batch_y), requires_grad=True)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(batch_x)

    if epoch % 10 == 0:
        print("Epoch: %d  Loss: %.4f" % (epoch, epoch_loss / len(train_x)))

prediction = net(test_x).max(1)[1]
print("Prediction:", prediction.tolist())
print("Test accuracy: %.4f" % (prediction == test_y).float().mean().item())
