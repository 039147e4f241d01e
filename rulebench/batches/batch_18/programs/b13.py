# small random BERT, sentiment-like task with negation words and padding
import random
import torch
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

torch.manual_seed(0)
rnd = random.Random(0)
GOOD, BAD, NEG = range(10, 20), range(20, 30), 5


def sentence():
    n = rnd.randint(4, 14)
    toks = [rnd.randint(30, 99) for _ in range(n)]
    label = rnd.randint(0, 1)
    w = rnd.choice(GOOD if label else BAD)
    pos = rnd.randrange(n - 1)
    toks[pos + 1] = w
    if rnd.random() < 0.3:
        toks[pos] = NEG
        label = 1 - label
    return [1] + toks + [2], label


def batch(rows):
    m = max(len(r[0]) for r in rows)
    ids = torch.tensor([r[0] + [0] * (m - len(r[0])) for r in rows])
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": torch.tensor([r[1] for r in rows])}


train = [sentence() for _ in range(3000)]
test = [sentence() for _ in range(400)]
cfg = BertConfig(vocab_size=100, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                 max_position_embeddings=32, hidden_dropout_prob=0.05, attention_probs_dropout_prob=0.0, num_labels=2)
model = BertForSequenceClassification(cfg)
decay = [p for n, p in model.named_parameters() if p.ndim > 1]
no_decay = [p for n, p in model.named_parameters() if p.ndim <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=1e-3)
EPOCHS, BS = 5, 32
steps = EPOCHS * ((len(train) + BS - 1) // BS)
sched = get_linear_schedule_with_warmup(opt, int(0.1 * steps), steps)

for epoch in range(EPOCHS):
    model.train()
    rnd.shuffle(train)
    tot = cnt = 0
    for i in range(0, len(train), BS):
        out = model(**batch(train[i:i + BS]))
        opt.zero_grad()
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        tot, cnt = tot + out.loss.item(), cnt + 1
    model.eval()
    with torch.no_grad():
        b = batch(test)
        acc = (model(input_ids=b["input_ids"], attention_mask=b["attention_mask"]).logits.argmax(-1) == b["labels"]).float().mean()
    print(f"epoch {epoch + 1} loss {tot / cnt:.4f} test acc {acc.item():.3f}")
