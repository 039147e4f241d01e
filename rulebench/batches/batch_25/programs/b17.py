import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, set_seed
from transformers.utils import logging
from peft import LoraConfig, TaskType, get_peft_model

logging.set_verbosity_error()
set_seed(8)

# LoRA adaptation of a (tiny) BERT: first domain -> second domain where two groups of words changed their sentiment.
V, T = 60, 12
g = torch.Generator().manual_seed(0)
score_a = torch.randn(V, generator=g)
score_b = score_a.clone()
score_b[20:] = -score_b[20:]


def make(n, score):
    ids = torch.randint(3, V, (n, T), generator=g)
    return ids, (score[ids].sum(1) > 0).long()


def batches(x, y, bs, epochs):
    for ep in range(epochs):
        for idx in torch.randperm(len(x)).split(bs):
            yield ep, x[idx], y[idx]


@torch.no_grad()
def accuracy(m, x, y):
    m.eval()
    acc = (m(input_ids=x).logits.argmax(-1) == y).float().mean().item()
    m.train()
    return acc


config = BertConfig(vocab_size=V, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=16, num_labels=2,
                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(config)
xa, ya = make(3000, score_a)
xb, yb = make(3000, score_b)
xt, yt = make(1000, score_b)

# ----- domain A, all weights
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step, (ep, x, y) in enumerate(batches(xa, ya, 64, 6)):
    loss = model(input_ids=x, labels=y).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("domain A: last loss %.3f" % loss.item(), "| on domain B before adaptation: %.3f" % accuracy(model, xt, yt))

# ----- domain B, LoRA
lr = 4e-3
optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
peft_config = LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.0,
                         target_modules=["query", "key", "value", "dense"])
model = get_peft_model(model, peft_config)
model.print_trainable_parameters()

for step, (ep, x, y) in enumerate(batches(xb, yb, 64, 8)):
    out = model(input_ids=x, labels=y)
    out.loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    if step % 60 == 0:
        print(f"step {step} loss {out.loss.item():.4f}")

print("accuracy on domain B: %.4f" % accuracy(model, xt, yt))
