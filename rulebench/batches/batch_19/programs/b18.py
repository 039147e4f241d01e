# %% character level language model with a GRU
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)

# %% corpus
names = ["the red fox", "a small bird", "the old sailor", "my neighbour", "a tired horse", "the green frog"]
verbs = ["jumps over", "looks at", "sings to", "runs past", "waits for", "talks about"]
things = ["the river", "a lazy dog", "the harbour", "an apple tree", "the moon", "a wooden bridge"]
g = torch.Generator().manual_seed(5)


def pick(options):
    return options[torch.randint(len(options), (1,), generator=g).item()]


text = "".join(f"{pick(names)} {pick(verbs)} {pick(things)}. " for _ in range(2500))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]
print(len(chars), "characters,", len(data), "tokens")

# %% batches
block_size = 32
batch_size = 32


def get_batch(source):
    ix = torch.randint(len(source) - block_size - 1, (batch_size,))
    x = torch.stack([source[i:i + block_size] for i in ix])
    y = torch.stack([source[i + 1:i + 1 + block_size] for i in ix])
    return x, y


# %% model
class CharGRU(nn.Module):
    def __init__(self, vocab, emb=32, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hidden, num_layers=1)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, h=None):
        e = self.embed(x)
        o, h = self.rnn(e, h)
        return self.out(o), h


model = CharGRU(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)


@torch.no_grad()
def val_loss():
    model.eval()
    losses = []
    for _ in range(4):
        x, y = get_batch(val_data)
        logits, _ = model(x)
        losses.append(F.cross_entropy(logits.flatten(0, 1), y.flatten()).item())
    model.train()
    return sum(losses) / len(losses)


# %% train
for step in range(300):
    x, y = get_batch(train_data)
    logits, _ = model(x)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 30 == 0:
        print(f"step {step:4d} train {loss.item():.3f} val {val_loss():.3f}")
print("final val loss %.3f" % val_loss())
