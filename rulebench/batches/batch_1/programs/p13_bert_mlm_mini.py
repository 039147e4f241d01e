# Pretrain a mini BERT with masked language modelling on synthetic "sentences"
# (each sentence repeats a motif of two tokens, so a masked token can be told from the others)
import torch
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(6)
MASK, CLS, SEP, OFF = 0, 1, 2, 3
WORDS, LEN = 18, 12


def sentences(n, g):
    motif = torch.randint(0, WORDS, (n, 2), generator=g)
    body = OFF + motif.repeat(1, LEN // 2)
    return torch.cat([torch.full((n, 1), CLS), body, torch.full((n, 1), SEP)], 1)


def mask_tokens(ids, p=0.2, g=None):
    ids = ids.clone()
    labels = ids.clone()
    special = ids < OFF
    masked = (torch.rand(ids.shape, generator=g) < p) & ~special
    labels[masked | special] = -100
    ids[masked] = MASK
    return ids, labels, masked


g = torch.Generator().manual_seed(6)
config = BertConfig(vocab_size=OFF + WORDS, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=32,
                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForMaskedLM(config)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 30))

model.train()
for step in range(700):
    ids, labels, _ = mask_tokens(sentences(32, g), g=g)
    loss = model(input_ids=ids, labels=labels).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 70 == 0:
        print(f"{step:4d} mlm loss {loss.item():.4f}")

model.eval()
orig = sentences(200, g)
ids, _, m = mask_tokens(orig, g=g)
with torch.no_grad():
    pred = model(input_ids=ids).logits.argmax(-1)
print("accuracy at masked positions: %.3f" % (pred[m] == orig[m]).float().mean())
