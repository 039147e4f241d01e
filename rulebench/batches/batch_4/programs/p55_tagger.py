# BiLSTM tagger for synthetic sentences (persons / places / other), variable length
import random
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

SEED = 88
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
PAD_WORD, PAD_TAG = 0, 0
COMMON = list(range(1, 300))          # ordinary words
NAMES = list(range(300, 420))         # can be persons or places, the word before decides
CUE_PER, CUE_LOC = list(range(420, 426)), list(range(426, 432))


def sentence():
    n = int(np.clip(np.random.geometric(1 / 12), 4, 60))
    words, tags = [], []
    while len(words) < n:
        r = random.random()
        if r < 0.3:
            per = random.random() < 0.5
            cue = random.choice(CUE_PER if per else CUE_LOC) if random.random() < 0.85 else random.choice(COMMON)
            words.append(cue); tags.append(0)
            k = random.choice([1, 1, 2])
            for j in range(k):
                words.append(random.choice(NAMES))
                tags.append((1 if per else 3) + (j > 0))
        elif r < 0.4:
            words.append(random.choice(NAMES)); tags.append(0)      # a name used as an ordinary word
        else:
            words.append(random.choice(COMMON)); tags.append(0)
    return torch.tensor(words), torch.tensor(tags)


def collate(batch):
    words, tags = zip(*batch)
    x = pad_sequence(words, batch_first=True, padding_value=PAD_WORD)
    y = pad_sequence(tags, batch_first=True, padding_value=PAD_TAG)
    return x, y


class Tagger(nn.Module):
    def __init__(self, vocab=432, d=32, h=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=PAD_WORD)
        self.rnn = nn.LSTM(d, h, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(2 * h, len(TAGS))

    def forward(self, x):
        h, _ = self.rnn(self.drop(self.emb(x)))
        return self.out(self.drop(h))


train, dev = [sentence() for _ in range(1500)], [sentence() for _ in range(400)]
train_loader = DataLoader(train, 32, shuffle=True, collate_fn=collate)
dev_loader = DataLoader(dev, 100, collate_fn=collate)
model = Tagger()
criterion = nn.CrossEntropyLoss(ignore_index=-100)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in train_loader:
        logits = model(x)
        loss = criterion(logits.reshape(-1, len(TAGS)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train_loader)
    model.eval()
    right = count = 0
    with torch.no_grad():
        for x, y in dev_loader:
            pred = model(x).argmax(-1)
            valid = y != criterion.ignore_index
            right += (pred == y)[valid].sum().item()
            count += valid.sum().item()
    print(f"epoch {epoch} train loss {total:.4f} dev token accuracy {right / count:.4f}")
