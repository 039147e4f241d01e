"""Tiny GPT-2 that answers 'reverse this word'. Each answer has another length,
so the model must know when to stop."""
import random
import torch
from transformers import GPT2Config, GPT2LMHeadModel

SEED = 10
random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)

chars = "abcdefgh"
vocab = ["<|endoftext|>", "="] + list(chars)
stoi = {c: i for i, c in enumerate(vocab)}
EOS = stoi["<|endoftext|>"]
PAD = EOS            # gpt2 has no pad token

cfg = GPT2Config(vocab_size=len(vocab), n_positions=24, n_embd=64, n_layer=2, n_head=4,
                 bos_token_id=EOS, eos_token_id=EOS, pad_token_id=PAD,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(cfg)


def word():
    return "".join(random.choice(chars) for _ in range(random.randint(2, 5)))


def encode(w, answer=True):
    ids = [stoi[c] for c in w] + [stoi["="]]
    if answer:
        ids += [stoi[c] for c in reversed(w)] + [EOS]
    return ids


def collate(rows):
    width = max(len(r) for r in rows)
    ids = torch.full((len(rows), width), PAD)
    attn = torch.zeros(len(rows), width, dtype=torch.long)
    for k, r in enumerate(rows):
        ids[k, :len(r)] = torch.tensor(r)
        attn[k, :len(r)] = 1
    labels = ids.clone()
    labels[labels == PAD] = -100
    return dict(input_ids=ids, attention_mask=attn, labels=labels)


opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
STEPS = 800
sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, total_iters=STEPS)
model.train()
for step in range(1, STEPS + 1):
    out = model(**collate([encode(word()) for _ in range(48)]))
    out.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 100 == 0:
        print(f"step {step} loss {out.loss.item():.4f}")

model.eval()
good = 0
for _ in range(100):
    w = word()
    ids = torch.tensor([encode(w, answer=False)])
    with torch.no_grad():
        for _ in range(10):
            nxt = model(input_ids=ids).logits[0, -1].argmax().item()
            ids = torch.cat([ids, torch.tensor([[nxt]])], 1)
            if nxt == EOS:
                break
    ans = "".join(vocab[i] for i in ids[0, len(w) + 1:].tolist()).replace("<|endoftext|>", "")
    good += ans == w[::-1]
print("exact match on new words: %.3f" % (good / 100))
