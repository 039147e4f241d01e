"""Sentences of several lengths, padded by the loader, packed for a recurrent layer."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(8)
sentences = []
for _ in range(320):
    tokens = torch.randint(1, 40, (int(torch.randint(3, 15, ())),))
    sentences.append((tokens, int((tokens < 10).sum() > 2)))


def collate(batch):
    tokens, labels = zip(*batch)
    lengths = torch.tensor([len(one) for one in tokens])
    return pad_sequence(tokens, batch_first=True), lengths, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(40, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 24, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(48, 2)

    def forward(self, text, lengths):
        packed = pack_padded_sequence(self.embedding(text), lengths.cpu(), batch_first=True,
                                      enforce_sorted=False)  # fmt: skip
        _, (hidden, _) = self.lstm(packed)
        return self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1))


loader = DataLoader(sentences[:256], batch_size=16, shuffle=True, collate_fn=collate)
held_out = DataLoader(sentences[256:], batch_size=32, collate_fn=collate)
model, criterion = Classifier(), nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    model.train()
    for text, lengths, labels in loader:
        loss = criterion(model(text, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(t, n).argmax(1) == y).sum().item() for t, n, y in held_out)
    print(epoch, right / 64)
