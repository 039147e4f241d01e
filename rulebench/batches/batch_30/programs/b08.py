# Sequence classification with a tiny randomly initialised BERT: does the review end up positive?
import numpy as np
import torch
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed)

SEED = 70
set_seed(SEED)
rng = np.random.default_rng(SEED)
words = ["[PAD]", "[CLS]", "[SEP]", "good", "great", "fun", "bad", "dull", "awful", "not", "film", "plot", "the", "was", "and", "very"]
ids = {w: i for i, w in enumerate(words)}
POS, NEG, NEU = ["good", "great", "fun"], ["bad", "dull", "awful"], ["film", "plot", "the", "was", "and", "very"]
MAXLEN = 18


def review():
    score, toks = 0, []
    while score == 0 or len(toks) < 6:
        toks, score, mood = [], 0, rng.choice([-1, 1])
        for _ in range(rng.integers(3, 6)):
            toks += list(rng.choice(NEU, rng.integers(0, 2)))
            s = mood if rng.random() < 0.8 else -mood
            neg = rng.random() < 0.15
            toks += (["not"] if neg else []) + [str(rng.choice(POS if s > 0 else NEG))]
            score += -s if neg else s
    return toks, int(score > 0)


def encode(toks):
    x = [1] + [ids[t] for t in toks][: MAXLEN - 2] + [2]
    pad = MAXLEN - len(x)
    return x + [0] * pad, [1] * len(x) + [0] * pad


class Reviews(torch.utils.data.Dataset):
    def __init__(self, n):
        self.data = []
        for _ in range(n):
            toks, lab = review()
            x, m = encode(toks)
            self.data.append(dict(input_ids=torch.tensor(x), attention_mask=torch.tensor(m), labels=torch.tensor(lab)))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


cfg = BertConfig(vocab_size=len(words), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=96, max_position_embeddings=MAXLEN, num_labels=2, initializer_range=0.1)
model = BertForSequenceClassification(cfg)
args = TrainingArguments(output_dir="out_bert", num_train_epochs=12, per_device_train_batch_size=32,
                         per_device_eval_batch_size=128, learning_rate=2e-3, warmup_steps=50, weight_decay=0.01,
                         logging_steps=100, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True, seed=SEED)
trainer = Trainer(model=model, args=args, train_dataset=Reviews(2500), eval_dataset=Reviews(600),
                  compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())})
trainer.train()
print("accuracy on new reviews: %.4f" % trainer.evaluate()["eval_accuracy"])
