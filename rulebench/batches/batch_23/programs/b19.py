"""BiLSTM sequence tagger with packed sequences and a curriculum on sentence length."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

random.seed(0)
torch.manual_seed(0)

NUM_TOKENS, NUM_TAGS, PAD = 50, 5, 0
IGNORE = -100


def make_sentence(length):
    # tag depends on the token class and on the class of the following token
    toks = [random.randint(1, NUM_TOKENS - 1) for _ in range(length)]
    tags = [(toks[i] % 5 + (toks[i + 1] % 2 if i + 1 < length else 0)) % NUM_TAGS for i in range(length)]
    return torch.tensor(toks), torch.tensor(tags)


train_set = [make_sentence(random.randint(3, 20)) for _ in range(2000)]
test_set = [make_sentence(random.randint(3, 20)) for _ in range(300)]


class Tagger(nn.Module):
    def __init__(self, emb=32, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(NUM_TOKENS, emb, padding_idx=PAD)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, NUM_TAGS)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.emb(tokens), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = self.lstm(packed)
        hidden, _ = pad_packed_sequence(hidden, batch_first=True)
        return self.out(hidden)


def batches(sentences, size):
    # bucket by length, shuffle the buckets
    sentences = sorted(sentences, key=lambda s: len(s[0]))
    chunks = [sentences[i:i + size] for i in range(0, len(sentences), size)]
    random.shuffle(chunks)
    for chunk in chunks:
        toks, tags = zip(*chunk)
        lengths = torch.tensor([len(t) for t in toks])
        yield pad_sequence(toks, True, PAD), pad_sequence(tags, True, IGNORE), lengths


model = Tagger()
loss_fn = nn.CrossEntropyLoss(ignore_index=IGNORE)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

max_len_by_epoch = [6, 10, 15, 20, 20, 20, 20, 20]
for epoch, max_len in enumerate(max_len_by_epoch):
    subset = [s for s in train_set if len(s[0]) <= max_len]
    model.train()
    losses = []
    for tokens, tags, lengths in batches(subset, 32):
        optimizer.zero_grad()
        scores = model(tokens, lengths)
        loss = loss_fn(scores.flatten(0, 1), tags.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    good = total = 0
    with torch.no_grad():
        for tokens, tags, lengths in batches(test_set, 100):
            pred = model(tokens, lengths).argmax(-1)
            mask = tags != IGNORE
            good += (pred[mask] == tags[mask]).sum().item()
            total += mask.sum().item()
    print(f"epoch {epoch} max_len {max_len} sentences {len(subset)} loss {sum(losses) / len(losses):.4f} tag acc {good / total:.4f}")
