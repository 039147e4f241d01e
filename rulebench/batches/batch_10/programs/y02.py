import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForTokenClassification, get_linear_schedule_with_warmup, set_seed

set_seed(302)
# toy NER: tokens 50-69 are names (label 1) unless preceded by token 10, then label 2
PAD = 0


def example():
    n = torch.randint(6, 18, (1,)).item()
    ids = torch.randint(5, 70, (n,))
    ids[torch.rand(n) < 0.15] = 10
    lab = torch.zeros(n, dtype=torch.long)
    name = ids >= 50
    lab[name] = 1
    prev = torch.cat([torch.tensor([0]), ids[:-1]])
    lab[name & (prev == 10)] = 2
    return ids, lab


def collate(rows):
    m = max(len(i) for i, _ in rows)
    ids = torch.full((len(rows), m), PAD)
    mask = torch.zeros(len(rows), m, dtype=torch.long)
    lab = torch.full((len(rows), m), -100)
    for r, (i, l) in enumerate(rows):
        ids[r, :len(i)], mask[r, :len(i)], lab[r, :len(i)] = i, 1, l
    return {"input_ids": ids, "attention_mask": mask, "labels": lab}


data = [example() for _ in range(1400)]
train = DataLoader(data[:1200], batch_size=16, shuffle=True, collate_fn=collate)
test = DataLoader(data[1200:], batch_size=50, collate_fn=collate)
cfg = BertConfig(vocab_size=70, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=96, max_position_embeddings=32, num_labels=3, pad_token_id=PAD)
model = BertForTokenClassification(cfg)
EPOCHS = 8
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
sched = get_linear_schedule_with_warmup(opt, 30, EPOCHS * len(train))
for epoch in range(EPOCHS):
    model.train()
    tot = 0
    for batch in train:
        out = model(**batch)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        tot += out.loss.item()
    model.eval()
    tp = fp = fn = 0
    with torch.no_grad():
        for batch in test:
            p = model(**batch).logits.argmax(-1)
            t = batch["labels"]
            keep = t != -100
            tp += ((p == 2) & (t == 2) & keep).sum().item()
            fp += ((p == 2) & (t != 2) & keep).sum().item()
            fn += ((p != 2) & (t == 2) & keep).sum().item()
    print(f"epoch {epoch} loss {tot / len(train):.4f} F1 of rare tag {2 * tp / max(1, 2 * tp + fp + fn):.4f}")
