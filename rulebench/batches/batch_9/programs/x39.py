import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup, set_seed

set_seed(302)
# tokens 5..39; label 1 when one of the first ten words occurs
def row():
    n = int(torch.randint(5, 16, (1,)))
    lab = int(torch.rand(1) < 0.5)
    t = torch.randint(15, 40, (n,))
    if lab:
        t[torch.randint(0, n, (1,))] = torch.randint(5, 15, (1,))
    return t, lab
train, test = [row() for _ in range(800)], [row() for _ in range(200)]

def collate(rows):
    m = max(len(r[0]) for r in rows) + 1
    ids = torch.zeros(len(rows), m, dtype=torch.long)
    for i, (t, _) in enumerate(rows):
        ids[i, 0] = 1
        ids[i, 1:len(t) + 1] = t
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": torch.tensor([r[1] for r in rows])}

model = BertForSequenceClassification(BertConfig(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                                 intermediate_size=64, max_position_embeddings=32, num_labels=2))
loader = DataLoader(train, batch_size=16, shuffle=True, collate_fn=collate)
epochs = 8
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
sched = get_linear_schedule_with_warmup(opt, 30, epochs * len(loader))
for e in range(epochs):
    model.train()
    s = 0
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        s += loss.item()
    model.eval()
    with torch.no_grad():
        b = collate(test)
        acc = (model(**b).logits.argmax(1) == b["labels"]).float().mean().item()
    print(f"epoch {e} train loss {s / len(loader):.4f} test acc {acc:.3f}")
