"""Tiny ViT on the digits with accelerate: bf16 autocast, accumulation, fixed patch projection, layer-wise lr decay."""
import argparse
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset
from transformers import ViTConfig, ViTForImageClassification, get_cosine_schedule_with_warmup

SEED = 123


def groups(model, lr, decay=0.8):
    layers = model.config.num_hidden_layers
    out = []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        parts = name.split(".")
        depth = next((int(q) + 1 for q in parts if q.isdigit()), layers + 1)
        if "embeddings" in name:
            depth = 0
        out.append({"params": [p], "lr": lr * decay ** (layers + 1 - depth),
                    "weight_decay": 0.05 if p.dim() > 1 else 0.0})
    return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=18)
    ap.add_argument("--lr", type=float, default=4e-3)
    args = ap.parse_args()
    set_seed(SEED)
    acc = Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=2)

    d = load_digits()
    x = torch.tensor(d.images / 8.0 - 1.0, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(d.target)
    xa, xb, ya, yb = train_test_split(x, y, test_size=0.25, stratify=d.target, random_state=SEED)
    train = DataLoader(TensorDataset(xa, ya), 32, shuffle=True)
    test = DataLoader(TensorDataset(xb, yb), 225)

    model = ViTForImageClassification(ViTConfig(
        image_size=8, patch_size=2, num_channels=1, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96, num_labels=10, hidden_dropout_prob=0.0, initializer_range=0.1))
    # as in MoCo v3: the patch projection stays random
    torch.nn.init.normal_(model.vit.embeddings.patch_embeddings.projection.weight, std=0.2)
    model.vit.embeddings.patch_embeddings.requires_grad_(False)

    opt = torch.optim.AdamW(groups(model, args.lr), betas=(0.9, 0.999))
    updates = args.epochs * len(train) // acc.gradient_accumulation_steps
    sched = get_cosine_schedule_with_warmup(opt, updates // 10, updates)
    model, opt, train, test, sched = acc.prepare(model, opt, train, test, sched)
    loss_fn = torch.nn.CrossEntropyLoss(label_smoothing=0.05)
    for ep in range(args.epochs):
        model.train()
        run = 0.0
        for xb_, yb_ in train:
            with acc.accumulate(model):
                loss = loss_fn(model(pixel_values=xb_).logits.float(), yb_)
                acc.backward(loss)
                if acc.sync_gradients:
                    acc.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad()
            run += loss.item() / len(train)
        model.eval()
        with torch.no_grad():
            hit = sum((model(pixel_values=a).logits.argmax(-1) == b).sum().item() for a, b in test) / len(yb)
        if ep % 2 == 1:
            acc.print(f"epoch {ep} loss {run:.4f} test accuracy {hit:.4f} lr {sched.get_last_lr()[-1]:.2e}")


if __name__ == "__main__":
    main()
