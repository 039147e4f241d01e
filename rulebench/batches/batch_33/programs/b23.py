import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
torch.set_num_threads(1)

# Character-level GRU that tells to which of four artificial languages a word belongs.
N_CHAR, N_LANG, MAXLEN, PAD = 20, 4, 14, 0
trans = torch.softmax(1.6 * torch.randn(N_LANG, N_CHAR, N_CHAR), dim=-1)


def make_words(n):
    lang = torch.randint(0, N_LANG, (n,))
    length = torch.randint(6, MAXLEN + 1, (n,))
    words = torch.zeros(n, MAXLEN, dtype=torch.long)
    c = torch.randint(0, N_CHAR, (n,))
    for t in range(MAXLEN):
        words[:, t] = torch.where(t < length, c + 1, torch.tensor(PAD))
        c = torch.multinomial(trans[lang, c], 1).squeeze(1)
    return words, length, lang


class GRUTagger(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(N_CHAR + 1, 24, padding_idx=PAD)
        self.gru = nn.GRU(24, hidden, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(hidden, N_LANG)

    def forward(self, words, length):
        packed = nn.utils.rnn.pack_padded_sequence(self.emb(words), length, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.fc(self.drop(h[-1]))


train = make_words(4000)
test = make_words(1000)
model = GRUTagger()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)


def evaluate():
    model.eval()
    with torch.no_grad():
        logits = model(test[0], test[1])
    return F.cross_entropy(logits, test[2]).item(), (logits.argmax(1) == test[2]).float().mean().item()


for epoch in range(10):
    model.train()
    tot = 0.0
    for idx in torch.randperm(4000).split(50):
        w, l, y = (t[idx] for t in train)
        loss = F.cross_entropy(model(w, l), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        tot += loss.item() * len(idx)
    vl, va = evaluate()
    print(f"{epoch + 1:2d}: train {tot / 4000:.4f}  test loss {vl:.4f}  test acc {va:.4f}")
print("test accuracy", round(evaluate()[1], 4))
