import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

set_seed(0)
torch.set_num_threads(1)
TEXT = ["the cat sat on the mat", "a dog ran in the park", "the bird sang a song", "my cat ran in the house",
        "a bird sat on the house", "the dog sang on the mat", "my dog sat in the park", "a cat ran on the song"]
chars = sorted(set("".join(TEXT)))
stoi = {c: i + 2 for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
BOS, EOS = 0, 1


class Sentences(Dataset):
    def __init__(self, lines, block=26):
        self.rows = []
        for line in lines:
            ids = [BOS] + [stoi[c] for c in line] + [EOS] * 30
            x = torch.tensor(ids[:block])
            y = torch.tensor(ids[1:block + 1])
            self.rows.append((x, y))

    def __len__(self):
        return len(self.rows) * 25

    def __getitem__(self, i):
        return self.rows[i % len(self.rows)]


cfg = GPT2Config(vocab_size=len(chars) + 2, n_positions=32, n_embd=48, n_layer=2, n_head=4,
                 bos_token_id=BOS, eos_token_id=EOS, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(cfg)
loader = DataLoader(Sentences(TEXT), batch_size=16, shuffle=True)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(12):
    tot = 0
    for x, y in loader:
        out = model(input_ids=x, labels=y)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        tot += out.loss.item()
    print("epoch", epoch, "loss", round(tot / len(loader), 4))

model.eval()
x = torch.stack([r[0] for r in Sentences(TEXT).rows])
with torch.no_grad():
    lp = model(x).logits[:, :-1].argmax(-1)
print("next character accuracy", (lp == x[:, 1:]).float().mean().item())
ids = torch.tensor([[BOS] + [stoi[c] for c in "the "]])
for _ in range(20):
    ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], 1)
print("".join(itos.get(int(i), "") for i in ids[0]))
