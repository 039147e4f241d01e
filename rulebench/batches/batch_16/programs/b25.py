# BERT as a frozen feature extractor, six topics
import torch
import torch.nn as nn
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
N, L, V, C = 1200, 24, 60, 6
y = torch.randint(0, C, (N,))
# every topic prefers its own nine tokens
topic = 4 + 9 * y[:, None] + torch.randint(0, 9, (N, L))
other = torch.randint(4, 58, (N, L))
ids = torch.where(torch.rand(N, L) < 0.7, topic, other)
ids[:, 0] = 1
mask = torch.ones_like(ids)

cfg = BertConfig(vocab_size=V, hidden_size=96, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=128, max_position_embeddings=L, initializer_range=0.1,
                 hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=2)
model = BertForSequenceClassification(cfg)

# freeze the encoder, only the head is tuned
for p in model.bert.parameters():
    p.requires_grad = False

optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)

# six classes instead of two
model.classifier = nn.Linear(cfg.hidden_size, C)
model.num_labels = model.config.num_labels = C

tr, te = torch.arange(1000), torch.arange(1000, N)
for epoch in range(12):
    model.train()
    total = 0
    for b in tr[torch.randperm(1000)].split(50):
        out = model(input_ids=ids[b], attention_mask=mask[b], labels=y[b])
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
        total += out.loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(input_ids=ids[te], attention_mask=mask[te]).logits.argmax(-1) == y[te]).float().mean()
    print(f"epoch {epoch} loss {total / 20:.3f} acc {acc:.3f}")
