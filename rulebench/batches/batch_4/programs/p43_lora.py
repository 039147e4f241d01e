"""LoRA on a small BERT: pretrain on many labelled topics, then adapt to a new 6-way task."""
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tempfile
import numpy as np
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

SEED = 17
set_seed(SEED)
rng = np.random.default_rng(SEED)
VOCAB, LEN, TOPICS, LABELS = 400, 24, 12, 6
topic_words = rng.dirichlet(np.full(VOCAB - 4, 0.06), size=TOPICS)


def documents(n, weights_of_label):
    """each document mixes topics; the label fixes which topics are likely"""
    labels = rng.integers(0, len(weights_of_label), n)
    ids = np.zeros((n, LEN), dtype=np.int64)
    mask = np.zeros((n, LEN), dtype=np.int64)
    for i, l in enumerate(labels):
        k = rng.integers(12, LEN)
        topics = rng.choice(TOPICS, size=k, p=weights_of_label[l])
        ids[i, 0] = 1
        ids[i, 1:k] = [4 + rng.choice(VOCAB - 4, p=topic_words[t]) for t in topics[1:]]
        mask[i, :k] = 1
    return Dataset.from_dict({"input_ids": ids, "attention_mask": mask, "labels": labels})


source = documents(3000, 0.7 * np.eye(TOPICS) + 0.3 / TOPICS)
pairs = np.zeros((LABELS, TOPICS))
for l in range(LABELS):
    pairs[l, [l, (l + 3) % LABELS + 6]] = 0.4
pairs += 0.2 / TOPICS
target_train, target_test = documents(1500, pairs), documents(600, pairs)


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


def fit(model, ds, steps, lr, eval_ds=None):
    args = TrainingArguments(output_dir=tempfile.mkdtemp(), max_steps=steps, per_device_train_batch_size=32,
                             per_device_eval_batch_size=200, learning_rate=lr, lr_scheduler_type="linear",
                             warmup_steps=20, logging_steps=50, save_strategy="no", report_to="none", use_cpu=True,
                             disable_tqdm=True, seed=SEED, weight_decay=0.01)
    tr = Trainer(model=model, args=args, train_dataset=ds, eval_dataset=eval_ds, compute_metrics=accuracy)
    tr.train()
    return tr


config = BertConfig(vocab_size=VOCAB, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=128, max_position_embeddings=LEN, num_labels=TOPICS)
base = BertForSequenceClassification(config)
fit(base, source, 300, 2e-3)

# new task: keep the pretrained body, fresh classification head
config.num_labels = LABELS
model = BertForSequenceClassification(config)
model.bert.load_state_dict(base.bert.state_dict())
lora = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["query", "value"])
model = get_peft_model(model, lora)
model.print_trainable_parameters()
trainer = fit(model, target_train, 300, 2e-3, target_test)
print("target task:", trainer.evaluate())
