# char-rnn with truncated backprop through time; the hidden state is carried over (detached) between chunks
import random
import torch
import torch.nn as nn

random.seed(2)
torch.manual_seed(2)
verbs = ["walks", "runs", "sleeps", "sings", "jumps"]
who = ["the fox", "a king", "my sister", "the old man", "nobody"]
when = ["today", "at night", "in spring", "again"]
text = " ".join(f"{random.choice(who)} {random.choice(verbs)} {random.choice(when)}." for _ in range(2500))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
B, T = 16, 32
n = (len(data) - 1) // B
xs = data[: n * B].view(B, n)
ys = data[1: n * B + 1].view(B, n)


class CharRNN(nn.Module):
    def __init__(self, v, h=96):
        super().__init__()
        self.emb = nn.Embedding(v, 24)
        self.rnn = nn.LSTM(24, h, batch_first=True)
        self.out = nn.Linear(h, v)

    def forward(self, x, state=None):
        o, state = self.rnn(self.emb(x), state)
        return self.out(o), state


net = CharRNN(len(chars))
opt = torch.optim.RMSprop(net.parameters(), lr=3e-3)
it = 0
for epoch in range(4):
    state = None
    for s in range(0, n - T, T):
        if state is not None:
            state = tuple(h.detach() for h in state)
        logits, state = net(xs[:, s:s + T], state)
        loss = nn.functional.cross_entropy(logits.reshape(-1, len(chars)), ys[:, s:s + T].reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        if it % 50 == 0:
            print(f"iter {it} loss {loss.item():.3f}")
        it += 1

out, state, c = [], None, torch.tensor([[stoi["t"]]])
with torch.no_grad():
    for _ in range(100):
        lg, state = net(c, state)
        c = torch.multinomial((lg[:, -1] / 0.7).softmax(-1), 1)
        out.append(chars[c.item()])
print("t" + "".join(out))
