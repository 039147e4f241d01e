"""LoRA demo: a tiny BERT is first trained to tell whether token A outnumbers token B; then, with all of its
weights fixed, low-rank adapters teach it another pair of tokens."""
import torch
import numpy as np
from transformers import BertConfig, BertForSequenceClassification
from peft import LoraConfig, TaskType, get_peft_model

SEED = 4
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
VOCAB, LEN = 40, 16


def task(plus, minus, n):
    ids = rng.integers(5, VOCAB, (n, LEN))
    lab = rng.integers(0, 2, n)
    for i in range(n):
        spots = rng.permutation(np.arange(1, LEN))[:5]
        many, few = (plus, minus) if lab[i] else (minus, plus)
        k = rng.integers(3, 5)
        ids[i, spots[:k]] = rng.choice(many, k)
        ids[i, spots[k:]] = rng.choice(few, 5 - k)
    ids[:, 0] = 2
    return torch.tensor(ids), torch.tensor(lab)


def run(model, params, x, y, lr, steps, tag):
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    model.train()
    for s in range(1, steps + 1):
        b = torch.randint(0, len(x), (32,))
        loss = model(input_ids=x[b], labels=y[b]).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if s % 100 == 0:
            print(f"{tag} step {s} loss {loss.item():.4f}")


@torch.no_grad()
def acc(model, x, y):
    model.eval()
    return (model(input_ids=x).logits.argmax(-1) == y).float().mean().item()


cfg = BertConfig(vocab_size=VOCAB, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                 max_position_embeddings=LEN, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(cfg)
xa, ya = task([5, 6, 7], [8, 9, 10], 3000)
run(model, model.parameters(), xa, ya, 1e-3, 400, "base")
print("first task accuracy", acc(model, *task([5, 6, 7], [8, 9, 10], 500)))

xb, yb = task([20, 21, 22], [23, 24, 25], 2000)
xt, yt = task([20, 21, 22], [23, 24, 25], 500)
print("second task before adapters", acc(model, xt, yt))
lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.0,
                  target_modules=["query", "key", "value", "dense"])
model = get_peft_model(model, lora)
model.print_trainable_parameters()
run(model, [p for p in model.parameters() if p.requires_grad], xb, yb, 5e-3, 500, "lora")
print("second task with adapters, test accuracy: %.4f" % acc(model, xt, yt))
