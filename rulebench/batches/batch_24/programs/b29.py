"""Named-entity style tagging with a small BERT and a hand-written training loop."""
import random
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForTokenClassification, get_linear_schedule_with_warmup, set_seed

set_seed(13)
FIRST, LAST, CITY, TITLE = range(10, 30), range(30, 50), range(50, 70), range(70, 74)
FILL = range(74, 110)
LABELS = ["O", "B-PER", "I-PER", "B-LOC"]


def sentence():
    ids, tags = [], []
    for _ in range(random.randint(3, 7)):
        kind = random.random()
        if kind < 0.25:
            if random.random() < 0.3:
                ids.append(random.choice(TITLE)); tags.append(0)
            ids += [random.choice(FIRST), random.choice(LAST)]; tags += [1, 2]
        elif kind < 0.4:
            ids.append(random.choice(CITY)); tags.append(3)
        elif kind < 0.5:
            # a family name without a first name begins a person after a title only, else it is a place
            if random.random() < 0.5:
                ids += [random.choice(TITLE), random.choice(LAST)]; tags += [0, 1]
            else:
                ids += [random.choice(FILL), random.choice(LAST)]; tags += [0, 3]
        else:
            ids.append(random.choice(FILL)); tags.append(0)
    return torch.tensor(ids), torch.tensor(tags)


def collate(batch):
    ids = pad_sequence([b[0] for b in batch], batch_first=True, padding_value=0)
    tags = pad_sequence([b[1] for b in batch], batch_first=True, padding_value=-100)
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": tags}


train_loader = DataLoader([sentence() for _ in range(1600)], batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader([sentence() for _ in range(400)], batch_size=100, collate_fn=collate)

model = BertForTokenClassification(BertConfig(
    vocab_size=110, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
    max_position_embeddings=40, num_labels=len(LABELS), hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1))
EPOCHS = 5
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
scheduler = get_linear_schedule_with_warmup(optimizer, 20, EPOCHS * len(train_loader))


@torch.no_grad()
def evaluate():
    model.eval()
    tp = fp = fn = 0
    for batch in test_loader:
        pred = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits.argmax(-1)
        gold = batch["labels"]
        keep = gold != -100
        p, g = pred[keep], gold[keep]
        tp += ((p == g) & (g > 0)).sum().item()
        fp += ((p != g) & (p > 0)).sum().item()
        fn += ((p != g) & (g > 0)).sum().item()
    return 2 * tp / max(1, 2 * tp + fp + fn)


for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for batch in train_loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        total += loss.item()
    print(f"epoch {epoch + 1} loss {total / len(train_loader):.4f} token F1 {evaluate():.4f}")
