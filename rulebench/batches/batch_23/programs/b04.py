"""ViT on digits, then a linear probe on parity."""
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from transformers import ViTConfig, ViTForImageClassification, set_seed


def batches(x, y, size):
    perm = torch.randperm(len(x))
    for i in range(0, len(perm), size):
        idx = perm[i:i + size]
        yield x[idx], y[idx]


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(pixel_values=x).logits.argmax(-1) == y).float().mean().item()


def main():
    set_seed(9)
    torch.set_num_threads(1)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x))
    tr, te = perm[:1300], perm[1300:]

    config = ViTConfig(image_size=8, patch_size=2, num_channels=1, hidden_size=48, num_hidden_layers=2,
                       num_attention_heads=4, intermediate_size=96, num_labels=10,
                       hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = ViTForImageClassification(config)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    epochs = 14
    steps = epochs * ((len(tr) + 63) // 64)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=steps)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for xb, yb in batches(x[tr], y[tr], 64):
            out = model(pixel_values=xb)
            loss = F.cross_entropy(out.logits, yb, label_smoothing=0.1)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item() * len(xb)
        if epoch % 3 == 1:
            print(f"epoch {epoch} loss {total / len(tr):.4f} test acc {accuracy(model, x[te], y[te]):.4f}")

    # linear probe: keep the encoder fixed, learn a new two-way head
    for p in model.vit.parameters():
        p.requires_grad = False
    model.classifier = torch.nn.Linear(config.hidden_size, 2)
    probe = torch.optim.SGD(model.classifier.parameters(), lr=0.1, momentum=0.9)
    parity = y % 2
    model.eval()
    with torch.no_grad():
        feats = model.vit(pixel_values=x[tr]).last_hidden_state[:, 0]
    for epoch in range(10):
        total = 0.0
        for fb, pb in batches(feats, parity[tr], 64):
            loss = F.cross_entropy(model.classifier(fb), pb)
            probe.zero_grad()
            loss.backward()
            probe.step()
            total += loss.item() * len(fb)
        if epoch % 3 == 0:
            print(f"probe epoch {epoch} loss {total / len(tr):.4f}")
    print(f"parity accuracy with the fixed encoder: {accuracy(model, x[te], parity[te]):.4f}")


if __name__ == "__main__":
    main()
