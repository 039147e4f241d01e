"""Date normalisation ("march 4 2011" -> "2011-03-04") with a tiny T5."""
import random

import torch
from torch.utils.data import DataLoader
from transformers import T5Config, T5ForConditionalGeneration, get_cosine_schedule_with_warmup, set_seed

set_seed(55)
random.seed(55)

months = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
chars = ["<pad>", "</s>"] + list("0123456789-") + months
stoi = {c: i for i, c in enumerate(chars)}
PAD, EOS = 0, 1


def example():
    y, m, d = random.randint(1990, 2029), random.randint(1, 12), random.randint(1, 28)
    if random.random() < 0.5:
        source = [months[m - 1], *str(d), "-", *str(y)]
    else:
        source = [*str(d), months[m - 1], *str(y)]
    return source, list(f"{y}-{m:02d}-{d:02d}")


def encode(tokens):
    return [stoi[t] for t in tokens] + [EOS]


def collate(batch):
    src = [torch.tensor(encode(s)) for s, _ in batch]
    tgt = [torch.tensor(encode(t)) for _, t in batch]
    input_ids = torch.nn.utils.rnn.pad_sequence(src, batch_first=True, padding_value=PAD)
    labels = torch.nn.utils.rnn.pad_sequence(tgt, batch_first=True, padding_value=-100)
    return {"input_ids": input_ids, "attention_mask": (input_ids != PAD).long(), "labels": labels}


data = [example() for _ in range(2400)]
train_dl = DataLoader(data[:2200], batch_size=32, shuffle=True, collate_fn=collate)
test_dl = DataLoader(data[2200:], batch_size=100, collate_fn=collate)

config = T5Config(
    vocab_size=len(chars), d_model=64, d_kv=16, d_ff=128, num_layers=2, num_decoder_layers=2, num_heads=4,
    dropout_rate=0.0, pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD,
)
model = T5ForConditionalGeneration(config)
epochs = 7
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
scheduler = get_cosine_schedule_with_warmup(optimizer, 40, epochs * len(train_dl))

for epoch in range(epochs):
    model.train()
    total = 0.0
    for batch in train_dl:
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        total += loss.item()
    print(f"epoch {epoch + 1} loss {total / len(train_dl):.4f}")

model.eval()
hits = n = 0
for batch in test_dl:
    out = model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=11, do_sample=False)
    for pred, ref in zip(out, batch["labels"]):
        pred = [t for t in pred.tolist() if t not in (PAD, EOS)]
        ref = [t for t in ref.tolist() if t not in (-100, EOS)]
        hits += pred == ref
        n += 1
print(f"exact match on held-out dates: {hits / n:.3f}")
