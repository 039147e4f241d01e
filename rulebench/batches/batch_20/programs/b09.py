"""Adapt a small sequence classifier to a second task with LoRA."""
from dataclasses import dataclass
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup
from peft import LoraConfig, TaskType, get_peft_model


@dataclass
class Config:
    vocab: int = 60
    length: int = 16
    pretrain_steps: int = 300
    lora_epochs: int = 8
    batch: int = 32
    lr_full: float = 1e-3
    lr_lora: float = 5e-3
    rank: int = 8
    seed: int = 21


cfg = Config()
torch.manual_seed(cfg.seed)


def make_task(n, positive, negative):
    """Label 1 if there are more tokens of the positive group than of the negative group."""
    x = torch.randint(4, cfg.vocab, (n, cfg.length))
    x[:, 0] = 1
    pos = torch.isin(x, positive).sum(1)
    neg = torch.isin(x, negative).sum(1)
    keep = pos != neg
    return x[keep], (pos > neg)[keep].long()


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        logits = torch.cat([model(input_ids=b).logits for b in x.split(256)])
    return (logits.argmax(1) == y).float().mean().item()


bert = BertConfig(vocab_size=cfg.vocab, hidden_size=64, num_hidden_layers=2,
                  num_attention_heads=4, intermediate_size=128, max_position_embeddings=32,
                  num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(bert)

# first task: the whole model
group = torch.arange(4, 60)
A_pos, A_neg = group[:18], group[18:36]
xa, ya = make_task(6000, A_pos, A_neg)
opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr_full)
model.train()
for step in range(cfg.pretrain_steps):
    idx = torch.randint(0, len(xa) - 500, (cfg.batch,))
    loss = model(input_ids=xa[idx], labels=ya[idx]).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if (step + 1) % 100 == 0:
        print(f"base step {step + 1}: loss {loss.item():.4f}")
print(f"base task accuracy {accuracy(model, xa[-500:], ya[-500:]):.3f}")

# second task: other word groups, adapters only
B_pos, B_neg = group[9:27], group[27:45]
xb, yb = make_task(3000, B_pos, B_neg)
xt, yt = make_task(800, B_pos, B_neg)
print(f"second task before adaptation {accuracy(model, xt, yt):.3f}")
lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=cfg.rank, lora_alpha=2 * cfg.rank,
                  lora_dropout=0.0, target_modules=["query", "value", "dense"])
model = get_peft_model(model, lora)
model.print_trainable_parameters()
loader = DataLoader(TensorDataset(xb, yb), batch_size=cfg.batch, shuffle=True)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg.lr_lora)
total = cfg.lora_epochs * len(loader)
scheduler = get_linear_schedule_with_warmup(optimizer, total // 10, total)
for epoch in range(cfg.lora_epochs):
    model.train()
    run = 0.0
    for x, y in loader:
        loss = model(input_ids=x, labels=y).loss
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        run += loss.item()
    print(f"lora epoch {epoch + 1}: loss {run / len(loader):.4f}  test acc {accuracy(model, xt, yt):.3f}")
