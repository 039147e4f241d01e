"""LoRA on a tiny BERT: pretrain on one rule, adapt to a related rule with few trainable weights."""
import random
import warnings
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, logging
from peft import LoraConfig, TaskType, get_peft_model

warnings.filterwarnings("ignore")
logging.set_verbosity_error()
SEED = 0
VOCAB, LEN = 40, 16
random.seed(SEED)
torch.manual_seed(SEED)


class Rows(Dataset):
    """[CLS] w1 .. wn; label 1 when more words come from the set than not"""

    def __init__(self, n, words):
        self.rows = []
        for _ in range(n):
            k = random.randint(7, LEN - 1)
            p = random.random()
            inside, outside = sorted(words), sorted(set(range(3, VOCAB)) - words)
            w = [random.choice(inside) if random.random() < p else random.choice(outside) for _ in range(k)]
            s = sum(v in words for v in w)
            ids = [1] + w + [0] * (LEN - 1 - k)
            self.rows.append({"input_ids": ids, "attention_mask": [1] * (k + 1) + [0] * (LEN - 1 - k),
                              "labels": int(2 * s > k)})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


def fit(model, train, test, epochs, lr):
    args = TrainingArguments(output_dir="/tmp/lora_bert_tiny", num_train_epochs=epochs, learning_rate=lr,
                             per_device_train_batch_size=32, per_device_eval_batch_size=256, lr_scheduler_type="cosine",
                             warmup_steps=20, logging_steps=50, eval_strategy="no", save_strategy="no",
                             report_to=[], disable_tqdm=True, seed=SEED, use_cpu=True)
    tr = Trainer(model=model, args=args, train_dataset=train, eval_dataset=test, compute_metrics=accuracy)
    tr.train()
    return tr.evaluate()["eval_accuracy"]


cfg = BertConfig(vocab_size=VOCAB, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                 max_position_embeddings=LEN, num_labels=2, pad_token_id=0)
model = BertForSequenceClassification(cfg)
first = set(range(3, 18))
print("pretraining accuracy", fit(model, Rows(2500, first), Rows(500, first), 6, 5e-4))

second = set(range(9, 26))
test2 = Rows(500, second)
lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.05,
                  target_modules=["query", "value", "dense"], exclude_modules=r".*pooler.*")
model = get_peft_model(model, lora)
model.print_trainable_parameters()
print("adapted accuracy", fit(model, Rows(2500, second), test2, 8, 2e-3))
