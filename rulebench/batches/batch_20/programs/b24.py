"""Date normalisation with a tiny T5: '7 mar 21' -> '2021-03-07', own training loop."""
import random
import torch
from torch.utils.data import DataLoader
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(2)
random.seed(2)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
ITEMS = ["<pad>", "</s>", "-", "/"] + MONTHS + [f"{i:02d}" for i in range(1, 32)] + ["20"]
IDX = {t: i for i, t in enumerate(ITEMS)}


def pair():
    d, m, y = random.randint(1, 28), random.randint(1, 12), random.randint(1, 25)
    style = random.randrange(3)
    if style == 0:
        src = [f"{d:02d}", MONTHS[m - 1], f"{y:02d}"]
    elif style == 1:
        src = [MONTHS[m - 1], f"{d:02d}", "20", f"{y:02d}"]
    else:
        src = [f"{d:02d}", "/", f"{m:02d}", "/", f"{y:02d}"]
    tgt = ["20", f"{y:02d}", "-", f"{m:02d}", "-", f"{d:02d}"]
    return [IDX[t] for t in src] + [1], [IDX[t] for t in tgt] + [1]


def collate(rows):
    ws = max(len(s) for s, _ in rows)
    wt = max(len(t) for _, t in rows)
    src = torch.zeros(len(rows), ws, dtype=torch.long)
    lab = torch.full((len(rows), wt), -100)
    for i, (s, t) in enumerate(rows):
        src[i, :len(s)] = torch.tensor(s)
        lab[i, :len(t)] = torch.tensor(t)
    return src, (src != 0).long(), lab


train = DataLoader([pair() for _ in range(2400)], batch_size=32, shuffle=True, collate_fn=collate)
test_src, test_mask, test_lab = collate([pair() for _ in range(200)])

model = T5ForConditionalGeneration(T5Config(
    vocab_size=len(ITEMS), d_model=48, d_kv=12, d_ff=96, num_layers=2, num_heads=4,
    dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
epochs = 5
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=epochs * len(train))


@torch.no_grad()
def exact_match():
    model.eval()
    out = model.generate(input_ids=test_src, attention_mask=test_mask, max_new_tokens=8)[:, 1:]
    n = min(out.shape[1], test_lab.shape[1])
    return (out[:, :n] == test_lab[:, :n]).all(1).float().mean().item()


for epoch in range(1, epochs + 1):
    model.train()
    total = 0.0
    for src, mask, lab in train:
        loss = model(input_ids=src, attention_mask=mask, labels=lab).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        total += loss.item()
    print(f"epoch {epoch}  loss {total / len(train):.4f}  exact match {exact_match():.3f}")
