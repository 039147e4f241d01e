# LoRA on a small BERT: first train on 4-topic data, then adapt to a new 3-class task
import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, set_seed
from peft import LoraConfig, get_peft_model

set_seed(0)
V, L = 120, 20


def corpus(n, groups, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, len(groups), (n,), generator=g)
    ids = torch.randint(2, V, (n, L), generator=g)
    for i in range(n):
        k = int(torch.randint(2, 6, (1,), generator=g))
        pos = torch.randperm(L - 1, generator=g)[:k] + 1
        lo, hi = groups[int(y[i])]
        ids[i, pos] = torch.randint(lo, hi, (k,), generator=g)
    ids[:, 0] = 1
    return TensorDataset(ids, y)


def loop(model, data, epochs, lr, tag):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=lr)
    model.train()
    for ep in range(epochs):
        tot = 0.0
        for ids, y in DataLoader(data, batch_size=32, shuffle=True):
            out = model(input_ids=ids, labels=y)
            opt.zero_grad()
            out.loss.backward()
            opt.step()
            tot += out.loss.item()
        print(f"{tag} epoch {ep} loss {tot / (len(data) / 32):.4f}")


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    ids, y = data.tensors
    return (model(input_ids=ids).logits.argmax(-1) == y).float().mean().item()


cfg = BertConfig(vocab_size=V, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=64, max_position_embeddings=32, num_labels=4)
base = BertForSequenceClassification(cfg)
loop(base, corpus(1600, [(10, 20), (30, 40), (50, 60), (70, 80)], 1), 5, 1e-3, "pretrain")

base.num_labels = base.config.num_labels = 3
base.classifier = torch.nn.Linear(32, 3)
torch.nn.init.normal_(base.classifier.weight, std=0.02)
torch.nn.init.zeros_(base.classifier.bias)
lora = LoraConfig(r=4, lora_alpha=8, lora_dropout=0.05, target_modules=["query", "value"])
model = get_peft_model(base, lora)
model.print_trainable_parameters()
groups = [(10, 25), (45, 60), (80, 100)]
loop(model, corpus(1200, groups, 2), 6, 2e-3, "adapt")
print("adapted test accuracy: %.4f" % accuracy(model, corpus(500, groups, 3)))
