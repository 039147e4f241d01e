"""Fine-tune-style loop with a very small GPT-2 on short command sentences."""
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import random
import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

random.seed(0)
torch.manual_seed(0)

VERBS = "take put wash cut boil fry mix serve".split()
NOUNS = "egg leek rice fish bean corn beef kale plum lime".split()
PLACE = "pan pot bowl plate".split()
WORDS = ["<pad>", "<bos>", "<eos>", "<sep>", "the", "in", "and"] + VERBS + NOUNS + PLACE
ID = {w: i for i, w in enumerate(WORDS)}


def sentence():
    """(request, answer): the answer repeats the food, then says where it goes"""
    v = random.randrange(len(VERBS))
    n = random.randrange(len(NOUNS))
    q = [VERBS[v], "the", NOUNS[n]]
    if random.random() < 0.3:
        q += ["and", VERBS[(v + 1) % len(VERBS)]]
    return q, ["<sep>", "the", NOUNS[n], "in", "the", PLACE[n % 4]]


def collate(n, max_len=20):
    ids = torch.full((n, max_len), ID["<pad>"])
    att = torch.zeros(n, max_len, dtype=torch.long)
    labels = torch.full_like(ids, -100)
    for i in range(n):
        q, a = sentence()
        q, a = [1] + [ID[w] for w in q], [ID[w] for w in a] + [2]
        ids[i, :len(q) + len(a)] = torch.tensor(q + a)
        att[i, :len(q) + len(a)] = 1
        labels[i, :len(q)] = torch.tensor(q)        # one side of the dialogue only
    return {"input_ids": ids, "attention_mask": att, "labels": labels}


cfg = GPT2Config(vocab_size=len(WORDS), n_positions=20, n_embd=32, n_layer=2, n_head=2,
                 bos_token_id=1, eos_token_id=2, pad_token_id=0,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(cfg)
STEPS = 300
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
sched = get_linear_schedule_with_warmup(opt, 15, STEPS)

model.train()
for step in range(STEPS):
    batch = collate(16)
    loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 30 == 0:
        print(f"step {step:3d}  lm loss {loss.item():.4f}  lr {sched.get_last_lr()[0]:.2e}")

model.eval()
hits = 0
with torch.no_grad():
    for k in range(100):
        q, a = sentence()
        seq = [1] + [ID[w] for w in q] + [ID["<sep>"]]
        for _ in range(5):
            seq.append(model(input_ids=torch.tensor([seq])).logits[0, -1].argmax().item())
        ans = [WORDS[t] for t in seq[-5:]]
        hits += ans == a[1:]
        if k < 3:
            print(" ".join(q), "=>", " ".join(ans), "| wanted:", " ".join(a[1:]))
print("exact answers:", hits, "of 100")
