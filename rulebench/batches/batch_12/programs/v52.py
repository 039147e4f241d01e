import numpy as np
import torch
import torch.nn as nn

# word2vec with negative sampling on a toy corpus with two "topics"
torch.manual_seed(0)
rng = np.random.default_rng(0)
V = 40
sents = []
for _ in range(1500):
    t = rng.integers(0, 2)
    sents.append(rng.integers(0, 20, 8) + 20 * t)
pairs = np.array([(s[i], s[j]) for s in sents for i in range(8) for j in range(max(0, i - 2), min(8, i + 3)) if i != j])
pairs = torch.tensor(pairs)

emb_in, emb_out = nn.Embedding(V, 16), nn.Embedding(V, 16)
nn.init.uniform_(emb_in.weight, -0.5 / 16, 0.5 / 16)
nn.init.zeros_(emb_out.weight)
opt = torch.optim.Adam(list(emb_in.parameters()) + list(emb_out.parameters()), lr=5e-3)
for step in range(1500):
    b = pairs[torch.randint(len(pairs), (256,))]
    neg = torch.randint(V, (256, 4))
    c = emb_in(b[:, 0])
    pos_s = (c * emb_out(b[:, 1])).sum(1)
    neg_s = (emb_out(neg) @ c[:, :, None]).squeeze(2)
    loss = -(nn.functional.logsigmoid(pos_s) + nn.functional.logsigmoid(-neg_s).sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 150 == 0:
        print(step, loss.item())
w = nn.functional.normalize(emb_in.weight.detach(), dim=1)
sim = w @ w.T
print("within", sim[:20, :20].mean().item(), "between", sim[:20, 20:].mean().item())
