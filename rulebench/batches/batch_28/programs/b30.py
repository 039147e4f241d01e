# LoRA adaptation of our in-house encoder to a new labelling with few examples
import os, tempfile
import numpy as np
import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import AutoConfig, AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification, set_seed
from transformers.utils import logging
logging.set_verbosity_error()

set_seed(13)
rng = np.random.default_rng(13)
V, T, TOPICS = 400, 16, 6
topic_words = [rng.choice(np.arange(5, V), 110, replace=False) for _ in range(TOPICS)]


def docs(n):
    k = rng.integers(TOPICS, size=n)
    x = np.stack([np.where(rng.random(T) < 0.45, rng.choice(topic_words[c], T), rng.integers(5, V, T)) for c in k])
    x[:, 0] = 2
    return torch.tensor(x), torch.tensor(k)


def fit(model, x, y, steps, lr, tag, bs=32):
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    sch = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, steps)
    model.train()
    for s in range(steps):
        i = torch.randint(len(x), (bs,))
        loss = model(input_ids=x[i], labels=y[i]).loss
        loss.backward()
        opt.step(); sch.step(); opt.zero_grad()
        if s % 100 == 0:
            print(f"{tag} step {s} loss {loss.item():.4f}")


# ---- 1. the base model (normally made once, elsewhere)
ckpt = os.path.join(tempfile.gettempdir(), "inhouse-encoder")
cfg = BertConfig(vocab_size=V, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                 max_position_embeddings=T, num_labels=TOPICS)
base = BertForSequenceClassification(cfg)
fit(base, *docs(12000), 900, 1e-3, "base")
base.save_pretrained(ckpt)

# ---- 2. the adaptation: two groups of topics, 160 labelled documents
config = AutoConfig.from_pretrained(ckpt, num_labels=2)
model = AutoModelForSequenceClassification.from_config(config)
model = get_peft_model(model, LoraConfig(task_type=TaskType.SEQ_CLS, r=4, lora_alpha=8, lora_dropout=0.05,
                                         target_modules=["query", "value"]))
model.print_trainable_parameters()
x, k = docs(160)
fit(model, x, (k >= 3).long(), 400, 2e-3, "lora")

model.eval()
x, k = docs(1000)
with torch.no_grad():
    acc = (model(input_ids=x).logits.argmax(-1) == (k >= 3).long()).float().mean().item()
print("held-out accuracy after adaptation: %.3f" % acc)
