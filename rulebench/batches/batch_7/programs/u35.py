"""Train a tiny GPT-2 from scratch on a counting language."""
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

set_seed(13)
VOCAB, T = 20, 24
# each sequence counts upward with a step of 1, 2 or 3 (mod 20)


def sequence():
    start, step = torch.randint(0, VOCAB, (1,)), torch.randint(1, 4, (1,))
    return (start + step * torch.arange(T + 1)) % VOCAB


def collate(batch):
    ids = torch.stack(batch)
    return {"input_ids": ids[:, :-1], "labels": ids[:, 1:]}


train = [sequence() for _ in range(1200)]
test = [sequence() for _ in range(200)]
loader = DataLoader(train, batch_size=16, shuffle=True, collate_fn=collate)

config = GPT2Config(vocab_size=VOCAB, n_positions=64, n_embd=32, n_layer=2, n_head=2,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)

for epoch in range(4):
    model.train()
    for i, batch in enumerate(loader):
        out = model(**batch)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        if i % 25 == 0:
            print(f"epoch {epoch} step {i} loss {out.loss.item():.4f}")

model.eval()
ids = torch.stack(test)
with torch.no_grad():
    prompt = ids[:, :8]
    for _ in range(8):
        nxt = model(prompt).logits[:, -1].argmax(-1, keepdim=True)
        prompt = torch.cat([prompt, nxt], 1)
print("prompt  ", ids[0, :8].tolist())
print("model   ", prompt[0, 8:].tolist())
print("expected", ids[0, 8:16].tolist())
print("exact continuation: %.3f" % (prompt[:, 8:] == ids[:, 8:16]).all(1).float().mean())
