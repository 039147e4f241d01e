"""Tag numbers, names and places in synthetic sentences with a tiny BERT and the Trainer."""
import random
import tempfile
import numpy as np
from datasets import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments, set_seed

set_seed(30)
NAMES = ["anna", "boris", "clara", "david", "paris"]
PLACES = ["london", "paris", "rome", "oslo", "clara"]
NUMBERS = ["one", "two", "three", "ten"]
TEMPLATES = [
    "N lives in P with X cats", "X people saw N near P", "in P N bought X books",
    "N and N met in P", "the train to P takes X hours", "ask N about the X houses in P",
]
TAGS = ["O", "NAME", "PLACE", "NUMBER"]
words = sorted({w for t in TEMPLATES for w in t.split() if w not in "NPX"} | set(NAMES + PLACES + NUMBERS))
ids = {w: i + 3 for i, w in enumerate(words)}
PAD, CLS, SEP, MAX_LEN = 0, 1, 2, 10


def make_example():
    input_ids, labels = [CLS], [-100]
    for w in random.choice(TEMPLATES).split():
        if w == "N":
            w, tag = random.choice(NAMES), 1
        elif w == "P":
            w, tag = random.choice(PLACES), 2
        elif w == "X":
            w, tag = random.choice(NUMBERS), 3
        else:
            tag = 0
        input_ids.append(ids[w])
        labels.append(tag)
    input_ids.append(SEP)
    labels.append(-100)
    fill = MAX_LEN - len(input_ids)
    return {"input_ids": input_ids + [PAD] * fill,
            "attention_mask": [1] * len(input_ids) + [0] * fill,
            "labels": labels + [-100] * fill}


def compute_metrics(p):
    pred = p.predictions.argmax(-1)
    keep = p.label_ids != -100
    entity = keep & (p.label_ids > 0)
    return {"accuracy": float((pred[keep] == p.label_ids[keep]).mean()),
            "entity_recall": float((pred[entity] == p.label_ids[entity]).mean())}


train = Dataset.from_list([make_example() for _ in range(1500)])
test = Dataset.from_list([make_example() for _ in range(300)])
config = BertConfig(vocab_size=len(ids) + 3, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=64, max_position_embeddings=16, num_labels=len(TAGS))
model = BertForTokenClassification(config)

with tempfile.TemporaryDirectory() as out:
    args = TrainingArguments(output_dir=out, num_train_epochs=4, per_device_train_batch_size=32,
                             per_device_eval_batch_size=100, learning_rate=3e-3, weight_decay=0.01,
                             warmup_steps=20, logging_steps=20, eval_strategy="epoch",
                             save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True)
    trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=test,
                      compute_metrics=compute_metrics)
    trainer.train()
    print(trainer.evaluate())
