"""Sentence-pair style classification with a small BERT built from scratch, dynamic padding."""
import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup, set_seed

set_seed(302)
PAD, CLS, SEP, V = 0, 1, 2, 40


def example():
    lab = int(torch.randint(0, 2, (1,)))
    n = int(torch.randint(4, 14, (1,)))
    body = torch.randint(10, V, (n,))
    body[torch.randint(0, n, (1,))] = 5 if lab else 6
    return [CLS] + body.tolist() + [SEP], lab


def collate(items):
    L = max(len(s) for s, _ in items)
    ids = torch.tensor([s + [PAD] * (L - len(s)) for s, _ in items])
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": torch.tensor([l for _, l in items])}


train, test = [example() for _ in range(1200)], [example() for _ in range(300)]
train_dl = DataLoader(train, batch_size=24, shuffle=True, collate_fn=collate)
test_dl = DataLoader(test, batch_size=64, collate_fn=collate)
cfg = BertConfig(vocab_size=V, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                 max_position_embeddings=32, num_labels=2, pad_token_id=PAD)
model = BertForSequenceClassification(cfg)
EPOCHS = 8
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = get_linear_schedule_with_warmup(opt, 40, EPOCHS * len(train_dl))
for epoch in range(EPOCHS):
    model.train()
    tot = 0.0
    for batch in train_dl:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        tot += loss.item()
    model.eval()
    hit = 0
    with torch.no_grad():
        for batch in test_dl:
            y = batch.pop("labels")
            hit += (model(**batch).logits.argmax(-1) == y).sum().item()
    print(f"epoch {epoch} loss {tot / len(train_dl):.4f} test acc {hit / len(test):.3f}")
