"""BiLSTM with a linear-chain CRF for BIO tagging."""
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence

TAGS = ["O", "B", "I"]
EPOCHS, BATCH, LR = 6, 32, 4e-3


class CRF(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.trans = nn.Parameter(torch.zeros(n, n))
        self.start, self.end = nn.Parameter(torch.zeros(n)), nn.Parameter(torch.zeros(n))

    def score(self, em, tags, mask):
        s = self.start[tags[:, 0]] + em[:, 0].gather(1, tags[:, :1])[:, 0]
        for t in range(1, em.shape[1]):
            step = self.trans[tags[:, t - 1], tags[:, t]] + em[:, t].gather(1, tags[:, t:t + 1])[:, 0]
            s = s + step * mask[:, t]
        last = mask.sum(1).long() - 1
        return s + self.end[tags.gather(1, last[:, None])[:, 0]]

    def partition(self, em, mask):
        a = self.start + em[:, 0]
        for t in range(1, em.shape[1]):
            nxt = torch.logsumexp(a[:, :, None] + self.trans[None], 1) + em[:, t]
            a = torch.where(mask[:, t:t + 1] > 0, nxt, a)
        return torch.logsumexp(a + self.end, 1)

    def nll(self, em, tags, mask):
        return (self.partition(em, mask) - self.score(em, tags, mask)).mean()

    def decode(self, em):
        a, back = self.start + em[0], []
        for e in em[1:]:
            m, i = (a[:, None] + self.trans).max(0)
            back.append(i)
            a = m + e
        path = [int((a + self.end).argmax())]
        for i in reversed(back):
            path.append(int(i[path[-1]]))
        return path[::-1]


class Tagger(nn.Module):
    def __init__(self, vocab, dim=24, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, len(TAGS))
        self.crf = CRF(len(TAGS))

    def emissions(self, x, lengths):
        packed = pack_padded_sequence(self.emb(x), lengths, batch_first=True, enforce_sorted=False)
        return self.fc(pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0])


def corpus(n, seed):
    r, rows = np.random.default_rng(seed), []
    for _ in range(n):
        w, t = [], []
        while len(w) < r.integers(8, 20):
            if r.random() < 0.25:
                k = int(r.integers(1, 4))
                w += [int(r.integers(50, 60))] + r.integers(1, 60, k).tolist() + [int(r.integers(60, 64))]
                t += [1] + [2] * (k + 1)
            else:
                w.append(int(r.integers(1, 50)))
                t.append(0)
        rows.append((torch.tensor(w), torch.tensor(t)))
    return rows


def collate(rows):
    lengths = torch.tensor([len(w) for w, _ in rows])
    x, y = pad_sequence([w for w, _ in rows], True), pad_sequence([t for _, t in rows], True)
    return x, y, lengths, (torch.arange(x.shape[1])[None] < lengths[:, None]).float()


@torch.no_grad()
def evaluate(model, rows):
    model.eval()
    x, y, lengths, mask = collate(rows)
    em = model.emissions(x, lengths)
    ok = sum((torch.tensor(model.crf.decode(em[i, :n])) == y[i, :n]).sum().item() for i, n in enumerate(lengths.tolist()))
    return model.crf.nll(em, y, mask).item(), ok / lengths.sum().item()


def main():
    torch.manual_seed(0)
    train, dev = corpus(1000, 0), corpus(200, 1)
    model = Tagger(64)
    opt = torch.optim.Adam(model.parameters(), lr=LR)
    for ep in range(EPOCHS):
        model.train()
        order, tot = torch.randperm(len(train)).tolist(), 0.0
        for i in range(0, len(order), BATCH):
            x, y, lengths, mask = collate([train[j] for j in order[i:i + BATCH]])
            loss = model.crf.nll(model.emissions(x, lengths), y, mask)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            tot += loss.item()
        nll, acc = evaluate(model, dev)
        print(f"epoch {ep} train nll {tot * BATCH / len(train):.3f} dev nll {nll:.3f} token acc {acc:.4f}")


if __name__ == "__main__":
    main()
