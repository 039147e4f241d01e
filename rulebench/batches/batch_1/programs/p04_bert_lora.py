# Pretrain a small BERT on one task, then LoRA (r=4) + new classifier on a related task
import torch
from transformers import BertConfig, BertForSequenceClassification
from peft import LoraConfig, get_peft_model

torch.manual_seed(30)
g = torch.Generator().manual_seed(30)


def draw(n, rule):
    x = torch.randint(3, 30, (n, 10), generator=g)
    x[:, 0] = 1
    k = (x[:, 1:] < 12).sum(1)
    y = (k >= 4).long() if rule == "source" else torch.where(k <= 2, 0, torch.where(k <= 4, 1, 2))
    return x, y


def loop(m, params, x, y, epochs, lr):
    opt = torch.optim.AdamW(params, lr=lr)
    for e in range(epochs):
        m.train()
        tot = 0
        for b in torch.randperm(len(x)).split(32):
            out = m(input_ids=x[b], labels=y[b])
            opt.zero_grad()
            out.loss.backward()
            opt.step()
            tot += out.loss.item() * len(b)
        print(f"   epoch {e}: {tot / len(x):.4f}")


def acc(m, x, y):
    m.eval()
    with torch.no_grad():
        return (m(input_ids=x).logits.argmax(-1) == y).float().mean().item()


cfg = BertConfig(vocab_size=30, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, max_position_embeddings=16)
base = BertForSequenceClassification(cfg)
x, y = draw(2000, "source")
print("source task")
loop(base, base.parameters(), x, y, 4, 1e-3)
print("source acc", acc(base, *draw(500, "source")))

cfg3 = BertConfig(**{**cfg.to_dict(), "num_labels": 3})
model = BertForSequenceClassification(cfg3)
model.bert.load_state_dict(base.bert.state_dict())
model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value"], modules_to_save=["classifier"], task_type="SEQ_CLS"))
model.print_trainable_parameters()
x, y = draw(2000, "target")
print("target task, LoRA")
loop(model, [p for p in model.parameters() if p.requires_grad], x, y, 8, 3e-3)
print("target acc", acc(model, *draw(500, "target")))
merged = model.merge_and_unload()
print("merged acc", acc(merged, *draw(500, "target")))
