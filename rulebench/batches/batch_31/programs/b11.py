"""Parameter-efficient adaptation of a small pretrained encoder with LoRA (peft).

Step 1 pretrains a tiny BERT on task A (find which of two symbols is more frequent),
step 2 adapts it to task B (the symbols swap their roles with another pair)
while less than 10% of the weights are allowed to move."""
import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification
from peft import LoraConfig, get_peft_model

SEED = 4
np.random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)
V, L = 24, 20


def data(n, a, b):
    x = np.random.randint(8, V, (n, L))
    y = np.random.randint(0, 2, n)
    for r in range(n):
        k = np.random.randint(2, 5)
        pos = np.random.permutation(L - 1)[:2 * k - 1] + 1
        major, minor = (a, b) if y[r] else (b, a)
        x[r, pos[:k]] = major
        x[r, pos[k:]] = minor
        x[r, 0] = 1
    return torch.tensor(x), torch.tensor(y)


def loop(m, params, x, y, steps, lr, tag):
    opt = torch.optim.AdamW(params, lr=lr)
    m.train()
    tot = 0
    for s in range(1, steps + 1):
        i = torch.randint(0, len(x), (32,))
        out = m(input_ids=x[i], labels=y[i])
        opt.zero_grad(); out.loss.backward(); opt.step()
        tot += out.loss.item()
        if s % 100 == 0:
            print(f"[{tag}] step {s} loss {tot/100:.4f}"); tot = 0


@torch.no_grad()
def accuracy(m, x, y):
    m.eval()
    return (m(input_ids=x).logits.argmax(-1) == y).float().mean().item()


cfg = BertConfig(vocab_size=V, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                 max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
base = BertForSequenceClassification(cfg)
xa, ya = data(4000, 2, 3)
loop(base, base.parameters(), xa, ya, 500, 1e-3, "task A")
print("task A accuracy", accuracy(base, *data(1000, 2, 3)))

xb, yb = data(3000, 5, 4)
xt, yt = data(1500, 5, 4)
print("task B before adaptation", accuracy(base, xt, yt))
lora = LoraConfig(task_type="SEQ_CLS", r=8, lora_alpha=32, lora_dropout=0.0,
                  target_modules=["query", "value", "key", "dense"])
m = get_peft_model(base, lora)
m.print_trainable_parameters()
loop(m, [p for p in m.parameters() if p.requires_grad], xb, yb, 600, 3e-3, "task B, LoRA")
m = m.merge_and_unload()
print("task B test accuracy after LoRA: %.4f" % accuracy(m, xt, yt))
