import torch
from sklearn.datasets import load_digits
from transformers import ViTConfig, ViTForImageClassification

# small ViT from scratch on 8x8 digits, decay only on matrices, label smoothing
torch.manual_seed(0)
d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
y = torch.tensor(d.target)
perm = torch.randperm(len(y), generator=torch.Generator().manual_seed(3))
tr, te = perm[:1400], perm[1400:]

cfg = ViTConfig(image_size=8, patch_size=2, num_channels=1, hidden_size=48, num_hidden_layers=2,
                num_attention_heads=4, intermediate_size=96, num_labels=10)
model = ViTForImageClassification(cfg)
decay = [p for p in model.parameters() if p.ndim >= 2]
rest = [p for p in model.parameters() if p.ndim < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}], lr=2e-3)
EPOCHS, BS = 15, 50
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=2e-3, total_steps=EPOCHS * (len(tr) // BS))
ce = torch.nn.CrossEntropyLoss(label_smoothing=0.1)

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for b in tr[torch.randperm(len(tr))].split(BS):
        logits = model(pixel_values=x[b]).logits
        loss = ce(logits, y[b])
        model.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        total += loss.item() * len(b)
    model.eval()
    with torch.no_grad():
        acc = (model(pixel_values=x[te]).logits.argmax(-1) == y[te]).float().mean().item()
    print(f"epoch {epoch} smoothed loss {total/len(tr):.4f} test acc {acc:.4f}")
