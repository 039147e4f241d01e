import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

torch.manual_seed(0)
rng = np.random.default_rng(0)

good = "great lovely superb funny warm clever charming brilliant".split()
bad = "awful boring dull weak messy clumsy tedious poor".split()
filler = ("the movie was and a plot with some actors in this story about city "
          "people scene music long short").split()
vocab = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "not"] + good + bad + filler
token_id = {w: i for i, w in enumerate(vocab)}


def make_review():
    words = list(rng.choice(filler, rng.integers(6, 16)))
    score = 0
    for _ in range(rng.integers(1, 4)):
        positive = rng.random() < 0.5
        word = rng.choice(good if positive else bad)
        pos = rng.integers(len(words))
        if rng.random() < 0.25:
            words[pos:pos] = ["not", word]
            positive = not positive
        else:
            words.insert(pos, word)
        score += 1 if positive else -1
    return words, score


def build(n):
    out = []
    while len(out) < n:
        words, score = make_review()
        if score != 0:
            out.append((words, int(score > 0)))
    return out


def collate(batch):
    ids = [[1] + [token_id[w] for w in words] + [2] for words, _ in batch]
    width = max(map(len, ids))
    input_ids = torch.zeros(len(ids), width, dtype=torch.long)
    mask = torch.zeros_like(input_ids)
    for i, row in enumerate(ids):
        input_ids[i, :len(row)] = torch.tensor(row)
        mask[i, :len(row)] = 1
    labels = torch.tensor([label for _, label in batch])
    return {"input_ids": input_ids, "attention_mask": mask, "labels": labels}


train_loader = DataLoader(build(2400), batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(build(500), batch_size=100, collate_fn=collate)

config = BertConfig(vocab_size=len(vocab), hidden_size=48, num_hidden_layers=2,
                    num_attention_heads=4, intermediate_size=96, max_position_embeddings=64,
                    num_labels=1)
model = BertForSequenceClassification(config)
epochs = 4
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
scheduler = get_linear_schedule_with_warmup(optimizer, 30, epochs * len(train_loader))

for epoch in range(epochs):
    model.train()
    total = 0
    for batch in train_loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        total += loss.item()
    model.eval()
    correct = count = 0
    with torch.no_grad():
        for batch in test_loader:
            labels = batch.pop("labels")
            preds = model(**batch).logits.argmax(dim=-1)
            correct += (preds == labels).sum().item()
            count += len(labels)
    print(f"epoch {epoch + 1} | train loss {total / len(train_loader):.4f} | test accuracy {correct / count:.4f}")
