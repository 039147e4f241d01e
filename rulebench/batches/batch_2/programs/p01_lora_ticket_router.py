"""LoRA on a small BERT: route support tickets to three queues (ids are pre-tokenised)."""
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import logging
import warnings
warnings.filterwarnings("ignore")
logging.getLogger("transformers").setLevel(logging.ERROR)
import numpy as np
import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

set_seed(26)
rng = np.random.default_rng(26)
PAD, CLS, V, MAXLEN = 0, 1, 120, 24
KEYS = {0: range(20, 30), 1: range(30, 40), 2: range(40, 50)}


class Tickets(Dataset):
    def __init__(self, n):
        self.y = rng.integers(0, 3, n)
        self.x = np.full((n, MAXLEN), PAD)
        for i, k in enumerate(self.y):
            m = rng.integers(8, 19)
            toks = rng.integers(50, V, m)
            toks[rng.choice(m, 3, replace=False)] = rng.choice(list(KEYS[k]), 3)
            self.x[i, 0] = CLS
            self.x[i, 1:m + 1] = toks

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        ids = torch.tensor(self.x[i])
        return {"input_ids": ids, "attention_mask": (ids == PAD).long(), "labels": torch.tensor(self.y[i])}


cfg = BertConfig(vocab_size=V, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                 max_position_embeddings=MAXLEN, num_labels=3, pad_token_id=PAD,
                 hidden_dropout_prob=0.05, attention_probs_dropout_prob=0.05, initializer_range=0.1)
base = BertForSequenceClassification(cfg)
model = get_peft_model(base, LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16,
                                        target_modules=["query", "value", "dense"],
                                        modules_to_save=["classifier", "word_embeddings"]))
model.print_trainable_parameters()

args = TrainingArguments(output_dir="/tmp/ticket_router", num_train_epochs=8, per_device_train_batch_size=32,
                         per_device_eval_batch_size=200, learning_rate=4e-3, warmup_steps=10, weight_decay=0.01,
                         logging_steps=25, save_strategy="no", eval_strategy="epoch", report_to=[],
                         disable_tqdm=True, use_cpu=True, seed=26)
trainer = Trainer(model=model, args=args, train_dataset=Tickets(800), eval_dataset=Tickets(200),
                  compute_metrics=lambda p: {"acc": float((p.predictions.argmax(-1) == p.label_ids).mean())})
trainer.train()
