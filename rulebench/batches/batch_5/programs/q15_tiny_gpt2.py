"""Train a tiny GPT-2 from scratch on walks over a fixed ring road map."""
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup, set_seed

set_seed(9)
N_NODES, SEQ = 24, 33
g = torch.Generator().manual_seed(9)
perm = torch.randperm(N_NODES, generator=g)
succ = torch.stack([perm, perm[torch.randperm(N_NODES, generator=g)]], 1)   # two roads leave each node


class Walks(Dataset):
    def __init__(self, n, seed):
        gg = torch.Generator().manual_seed(seed)
        cur = torch.randint(0, N_NODES, (n,), generator=gg)
        seq = [cur]
        for _ in range(SEQ - 1):
            pick = (torch.rand(n, generator=gg) < 0.3).long()
            cur = succ[cur, pick]
            seq.append(cur)
        self.seqs = torch.stack(seq, 1)

    def __len__(self):
        return len(self.seqs)

    def __getitem__(self, i):
        s = self.seqs[i]
        return {"input_ids": s[:-1], "labels": s[1:]}


train_loader = DataLoader(Walks(3000, 1), batch_size=32, shuffle=True)
eval_loader = DataLoader(Walks(300, 2), batch_size=100)

config = GPT2Config(vocab_size=N_NODES, n_positions=64, n_embd=48, n_layer=2, n_head=4, resid_pdrop=0.0,
                    embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
EPOCHS = 4
total = EPOCHS * len(train_loader)
scheduler = get_cosine_schedule_with_warmup(optimizer, 30, total)

step = 0
for epoch in range(EPOCHS):
    model.train()
    for batch in train_loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        step += 1
        if step % 50 == 0:
            print(f"step {step}/{total} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")
    model.eval()
    with torch.no_grad():
        ev = sum(model(**b).loss.item() for b in eval_loader) / len(eval_loader)
    print(f"epoch {epoch+1} eval loss {ev:.4f}")

with torch.no_grad():
    ids = next(iter(eval_loader))["input_ids"][:, :8]
    for _ in range(15):
        ids = torch.cat([ids, model(input_ids=ids).logits[:, -1].argmax(-1, keepdim=True)], 1)
ok = (succ[ids[:, 7:-1]] == ids[:, 8:].unsqueeze(-1)).any(-1)
print("generated moves that follow a road: %.3f" % ok.float().mean().item())
