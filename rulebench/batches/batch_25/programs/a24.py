import torch
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification, set_seed
from peft import LoraConfig, get_peft_model, TaskType

SEED = 50
set_seed(SEED)
V, L, CLS = 30, 14, 29


def batch(n, task):
    """task 'old': does token 5 come more often than 6.  task 'new': does 7 come more often than 8."""
    p, q = (5, 6) if task == "old" else (7, 8)
    x = torch.randint(0, 29, (n, L))
    m = torch.rand(n, L)
    x[m < 0.2] = p
    x[(m >= 0.2) & (m < 0.4)] = q
    y = ((x == p).sum(1) > (x == q).sum(1)).long()
    return torch.cat([torch.full((n, 1), CLS), x], 1), y


def run(model, task, lr, steps, bs=64):
    params = [p for p in model.parameters() if p.requires_grad]
    print(f"{task}: {sum(p.numel() for p in params)} of {sum(p.numel() for p in model.parameters())} numbers move")
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    sch = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, total_iters=steps)
    model.train()
    avg = 0.7
    for s in range(steps):
        x, y = batch(bs, task)
        loss = F.cross_entropy(model(input_ids=x).logits, y)
        opt.zero_grad(); loss.backward(); opt.step(); sch.step()
        avg = 0.98 * avg + 0.02 * loss.item()
        if (s + 1) % 100 == 0:
            print(f"  step {s + 1} smoothed loss {avg:.4f}")


@torch.no_grad()
def score(model, task):
    model.eval()
    x, y = batch(2000, task)
    return (model(input_ids=x).logits.argmax(-1) == y).float().mean().item()


cfg = BertConfig(vocab_size=V, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                 max_position_embeddings=32, num_labels=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
base = BertForSequenceClassification(cfg)
run(base, "old", 1e-3, 300)
print("base on old:", score(base, "old"), " on new:", score(base, "new"))

peft_cfg = LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.0,
                      target_modules=["query", "key", "value", "dense"], exclude_modules=["classifier"])
model = get_peft_model(base, peft_cfg)
run(model, "new", 5e-3, 500)
print("adapted, accuracy on new:", round(score(model, "new"), 4))
