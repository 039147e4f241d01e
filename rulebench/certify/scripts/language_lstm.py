"""A recurrent language model over a long text in columns, its state carried on and detached."""

import torch
from torch import nn

torch.manual_seed(1111)
bptt, batch_size, words = 10, 8, 30


def batchify(data, size):
    return data[: data.size(0) // size * size].view(size, -1).t().contiguous()


text = torch.randint(0, words, (4000,)).cumsum(0) % words
train_data, val_data = batchify(text[:3200], batch_size), batchify(text[3200:], 4)


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder, self.decoder = nn.Embedding(words, 24), nn.Linear(24, words)
        self.rnn = nn.LSTM(24, 24, 2, dropout=0.2)

    def forward(self, source, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(source)), hidden)
        return self.decoder(self.drop(output)).view(-1, words), hidden

    def init_hidden(self, size):
        weight = next(self.parameters())
        return weight.new_zeros(2, size, 24), weight.new_zeros(2, size, 24)


def get_batch(source, i):
    length = min(bptt, len(source) - 1 - i)
    return source[i : i + length], source[i + 1 : i + 1 + length].view(-1)


model, criterion, lr = RNNModel(), nn.CrossEntropyLoss(), 1.0
for epoch in range(2):
    model.train()
    hidden = model.init_hidden(batch_size)
    for i in range(0, train_data.size(0) - 1, bptt):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = tuple(one.detach() for one in hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        if "optimizer" not in globals():
            optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        optimizer.step()
    model.eval()
    hidden = model.init_hidden(4)
    with torch.no_grad():
        for i in range(0, val_data.size(0) - 1, bptt):
            data, targets = get_batch(val_data, i)
            output, hidden = model(data, hidden)
            print(criterion(output, targets).item())
