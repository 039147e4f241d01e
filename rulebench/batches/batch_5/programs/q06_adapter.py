import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(4)
rng = np.random.default_rng(4)
V, L = 60, 16
CLS = 1


def make(task, n):
    ids = rng.integers(5, V, size=(n, L))
    ids[:, 0] = CLS
    if task == "a":      # more low tokens than high tokens
        lab = ((ids[:, 1:] < 32).sum(1) > 7).astype(int)
    else:                # low and high tokens nearly balanced
        low = (ids[:, 1:] < 32).sum(1)
        lab = ((low == 7) | (low == 8)).astype(int)
    return torch.tensor(ids), torch.tensor(lab)


def accuracy(m, x, y):
    m.eval()
    with torch.no_grad():
        return (m(input_ids=x).logits.argmax(-1) == y).float().mean().item()


def train(m, x, y, xv, yv, steps, lr, name):
    params = [p for p in m.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) / 40, max(0.0, (steps - s) / (steps - 40))))
    for s in range(steps):
        m.train()
        i = torch.randint(len(x), (32,))
        loss = m(input_ids=x[i], labels=y[i]).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
        sched.step()
        if s % 80 == 79:
            print(f"{name} step {s+1} loss {loss.item():.4f} val acc {accuracy(m, xv, yv):.3f}")


cfg = BertConfig(vocab_size=V, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                 max_position_embeddings=L, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
base = BertForSequenceClassification(cfg)
xa, ya = make("a", 4000)
xav, yav = make("a", 500)
train(base, xa, ya, xav, yav, 320, 1e-3, "pretrain")

lora = LoraConfig(task_type="SEQ_CLS", r=8, lora_alpha=16, lora_dropout=0.0,
                  target_modules=["query", "key", "value", "dense"])
model = get_peft_model(base, lora)
model.print_trainable_parameters()
xb, yb = make("b", 6000)
xbv, ybv = make("b", 500)
train(model, xb, yb, xbv, ybv, 480, 3e-3, "adapt")
print("final task b acc", accuracy(model, xbv, ybv))
