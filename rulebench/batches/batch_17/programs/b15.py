import random, torch
from transformers import BertConfig, BertForSequenceClassification

# small BERT from scratch: which of two marker words comes first in the sentence
random.seed(1); torch.manual_seed(1)
CLS, A, B = 1, 2, 3
def make(n):
    xs, ys = [], []
    for _ in range(n):
        s = [random.randint(4, 49) for _ in range(14)]
        i, j = sorted(random.sample(range(14), 2))
        y = random.randint(0, 1)
        s[i], s[j] = (A, B) if y else (B, A)
        xs.append([CLS] + s); ys.append(y)
    return torch.tensor(xs), torch.tensor(ys)

X, y = make(3000)
Xv, yv = make(500)
X, y = X[:48], y[:48]

cfg = BertConfig(vocab_size=50, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=96, max_position_embeddings=20, num_labels=2,
                 hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForSequenceClassification(cfg)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
step = 0
while step < 700:
    for idx in torch.randperm(len(X)).split(48):
        model.train()
        out = model(input_ids=X[idx], attention_mask=torch.ones_like(X[idx]), labels=y[idx])
        opt.zero_grad()
        out.loss.backward()
        opt.step()
        step += 1
        if step % 70 == 0:
            model.eval()
            with torch.no_grad():
                v = model(input_ids=Xv, labels=yv)
            acc = (v.logits.argmax(-1) == yv).float().mean()
            print(f"step {step} train loss {out.loss.item():.4f} val loss {v.loss.item():.4f} val acc {acc:.3f}")
        if step >= 700:
            break
