"""Named entities with a tiny BERT trained from scratch by the Trainer.

Words are cut in pieces; only the first piece of a word has a label, all other
pieces, [CLS], [SEP] and the padding get -100.
"""
import random
import tempfile
import numpy as np
import torch
from transformers import (BertConfig, BertForTokenClassification, Trainer, TrainingArguments,
                          set_seed)

SEED = 4
set_seed(SEED)
LABELS = ["O", "PER", "LOC"]

FIRST = "anna peter maria john linda george paris".split()
PLACES = "berlin london madrid oslo paris lisbon george".split()
TEMPLATES = [
    "mister P lives in L", "P and P went to L yesterday", "the train from L to L was late",
    "yesterday P said that P is ill", "she flew to L with P", "the city of L is big",
    "P met P in L", "nobody in L knows P", "the food was good", "it rained in L all day",
]
plain = sorted({w for t in TEMPLATES for w in t.split() if w not in "PL"})


def pieces(word):
    return [word] if word in plain else [word[:3], "##" + word[3:]]


def make_example():
    words, tags = [], []
    for w in random.choice(TEMPLATES).split():
        if w == "P":
            words.append(random.choice(FIRST)), tags.append(1)
        elif w == "L":
            words.append(random.choice(PLACES)), tags.append(2)
        else:
            words.append(w), tags.append(0)
    return words, tags


all_pieces = sorted({p for w in plain + FIRST + PLACES for p in pieces(w)})
vocab = {p: i for i, p in enumerate(["[PAD]", "[CLS]", "[SEP]"] + all_pieces)}


def encode(words, tags):
    ids, labels = [vocab["[CLS]"]], [-100]
    for w, t in zip(words, tags):
        p = pieces(w)
        ids += [vocab[x] for x in p]
        labels += [t] + [-100] * (len(p) - 1)
    return {"input_ids": ids + [vocab["[SEP]"]], "labels": labels + [-100]}


def collator(features):
    n = max(len(f["input_ids"]) for f in features)
    def pad(key, value):
        return torch.tensor([f[key] + [value] * (n - len(f[key])) for f in features])
    batch = {"input_ids": pad("input_ids", vocab["[PAD]"]), "labels": pad("labels", -100)}
    batch["attention_mask"] = (batch["input_ids"] != vocab["[PAD]"]).long()
    return batch


def compute_metrics(p):
    pred, lab = p.predictions.argmax(-1), p.label_ids
    keep = lab != -100
    entity = keep & (lab > 0)
    return {"accuracy": float((pred == lab)[keep].mean()),
            "entity_recall": float((pred == lab)[entity].mean())}


train = [encode(*make_example()) for _ in range(1200)]
test = [encode(*make_example()) for _ in range(300)]

model = BertForTokenClassification(BertConfig(
    vocab_size=len(vocab), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=96, max_position_embeddings=32, num_labels=len(LABELS)))

args = TrainingArguments(
    output_dir=tempfile.mkdtemp(), num_train_epochs=8, learning_rate=1e-3,
    per_device_train_batch_size=8, gradient_accumulation_steps=4, warmup_steps=20,
    lr_scheduler_type="cosine", weight_decay=0.01, logging_steps=38, save_strategy="no",
    report_to=[], seed=SEED, disable_tqdm=True, use_cpu=True)
trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=test,
                  data_collator=collator, compute_metrics=compute_metrics)
trainer.train()
metrics = trainer.evaluate()
print({k: round(v, 4) for k, v in metrics.items() if k in ("eval_loss", "eval_accuracy", "eval_entity_recall")})
