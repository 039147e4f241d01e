"""Teach a very small GPT-2 to do arithmetic sequences: "start step : n1 n2 n3 ..." (mod 23)."""
import random
import torch
from torch.utils.data import Dataset, DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup, set_seed

set_seed(19)
M = 23
BOS, SEP, EOS = M, M + 1, M + 2
LEN = 12


class Sequences(Dataset):
    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        a, b = self.pairs[i]
        ids = [BOS, a, b, SEP] + [(a + b * k) % M for k in range(1, LEN + 1)] + [EOS]
        ids = torch.tensor(ids)
        input_ids, labels = ids[:-1], ids[1:]
        return {"input_ids": input_ids, "labels": labels}


pairs = [(a, b) for a in range(M) for b in range(M)]
random.shuffle(pairs)
train_pairs, test_pairs = pairs[:430], pairs[430:]
loader = DataLoader(Sequences(train_pairs), batch_size=32, shuffle=True)

config = GPT2Config(vocab_size=M + 3, n_positions=32, n_embd=64, n_layer=2, n_head=4,
                    bos_token_id=BOS, eos_token_id=EOS, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(config)
print("parameters:", sum(p.numel() for p in model.parameters()))
EPOCHS = 60
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
scheduler = get_linear_schedule_with_warmup(optimizer, 50, EPOCHS * len(loader))

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for batch in loader:
        out = model(**batch)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        total += out.loss.item()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")

model.eval()
prompts = torch.tensor([[BOS, a, b, SEP] for a, b in test_pairs])
gold = torch.tensor([[(a + b * k) % M for k in range(1, LEN + 1)] for a, b in test_pairs])
gen = model.generate(prompts, max_new_tokens=LEN, do_sample=False, pad_token_id=EOS,
                     attention_mask=torch.ones_like(prompts))[:, 4:4 + LEN]
gen = torch.nn.functional.pad(gen, (0, LEN - gen.shape[1]), value=EOS)
print("generated numbers right: %.3f" % (gen == gold).float().mean().item())
