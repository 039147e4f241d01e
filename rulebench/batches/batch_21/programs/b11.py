"""Masked language modelling of synthetic code-like sequences with BERT and the Trainer."""
import math
import random

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments, set_seed

set_seed(90)
random.seed(90)

PAD, CLS, SEP, MASK = 0, 1, 2, 3
OPEN = {4: 8, 5: 9, 6: 10, 7: 11}  # opening bracket -> closing bracket
VOCAB = 24


def brackets(depth):
    if depth == 0:
        return [random.randint(12, VOCAB - 1)]
    o = random.choice(list(OPEN))
    return [o, *brackets(depth - 1), OPEN[o]]


def make_sequence():
    body = []
    while len(body) < 12:
        body += brackets(random.randint(1, 3))
    return [CLS, *body[:20], SEP]


class MLMCollator:
    def __init__(self, probability=0.15):
        self.probability = probability

    def __call__(self, examples):
        seqs = [torch.tensor(e["input_ids"]) for e in examples]
        ids = torch.nn.utils.rnn.pad_sequence(seqs, batch_first=True, padding_value=PAD)
        attention = (ids != PAD).long()
        labels = ids.clone()
        chosen = (torch.rand(ids.shape) < self.probability) & (ids > MASK)
        chosen[:, 1] |= ~chosen.any(dim=1)
        labels[~chosen] = -100
        roll = torch.rand(ids.shape)
        ids[chosen & (roll < 0.8)] = MASK
        swap = chosen & (roll >= 0.8) & (roll < 0.9)
        ids[swap] = torch.randint(4, VOCAB, (int(swap.sum()),))
        return {"input_ids": ids, "attention_mask": attention, "labels": labels}


train = [{"input_ids": make_sequence()} for _ in range(3000)]
held_out = [{"input_ids": make_sequence()} for _ in range(300)]

model = BertForMaskedLM(
    BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
               max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=PAD)
)
args = TrainingArguments(
    output_dir="/tmp/bracket_mlm",
    per_device_train_batch_size=32,
    num_train_epochs=9,
    learning_rate=3e-3,
    warmup_steps=25,
    lr_scheduler_type="linear",
    eval_strategy="epoch",
    logging_steps=40,
    save_strategy="no",
    report_to="none",
    remove_unused_columns=False,
    disable_tqdm=True,
    use_cpu=True,
)
trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=held_out, data_collator=MLMCollator())
print("loss of a uniform guess:", round(math.log(VOCAB), 3))
trainer.train()

# closing brackets are determined by the context: mask each one and count the hits
model.eval()
hits = n = 0
with torch.no_grad():
    for e in held_out[:100]:
        ids = e["input_ids"]
        where = [i for i, t in enumerate(ids) if 8 <= t <= 11]
        batch = torch.tensor([ids] * len(where))
        batch[torch.arange(len(where)), where] = MASK
        pred = model(input_ids=batch).logits[torch.arange(len(where)), where].argmax(-1)
        hits += (pred == torch.tensor([ids[i] for i in where])).sum().item()
        n += len(where)
print(f"recovered closing brackets: {hits / n:.3f}")
