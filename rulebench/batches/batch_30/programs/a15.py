"""Small GPT-2 from scratch on a toy command language; plain training loop, no Trainer."""
import random
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

random.seed(12)
torch.manual_seed(12)

VERBS = ["open", "close", "move", "copy", "delete", "print"]
THINGS = ["file", "folder", "window", "picture", "song"]
PLACES = ["desk", "cloud", "disk", "trash", "phone"]
words = ["<pad>", "<s>", "</s>", "the", "to", "from", "and", "then"] + VERBS + THINGS + PLACES
stoi = {w: i for i, w in enumerate(words)}


def sentence():
    s = ["<s>"]
    for k in range(random.randint(1, 3)):
        v = random.choice(VERBS)
        s += [v, "the", random.choice(THINGS)]
        if v in ("move", "copy"):
            s += ["to", "the", random.choice(PLACES)]
        elif v == "delete":
            s += ["from", "the", random.choice(PLACES)]
        s += ["and", "then"]
    return s[:-2] + ["</s>"]


MAXLEN = 32


def collate(batch):
    ids = torch.zeros(len(batch), MAXLEN, dtype=torch.long)
    for r, s in enumerate(batch):
        ids[r, : len(s)] = torch.tensor([stoi[w] for w in s])
    mask = (ids != 0).long()
    # the model reads tokens 0..n-2 and has to say tokens 1..n-1
    inputs, labels = ids[:, :-1].contiguous(), ids[:, 1:].clone()
    labels[labels == 0] = -100
    return {"input_ids": inputs, "attention_mask": mask[:, :-1], "labels": labels}


train = DataLoader([sentence() for _ in range(2400)], batch_size=32, shuffle=True, collate_fn=collate)
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_positions=MAXLEN, n_embd=48, n_layer=2, n_head=4,
                                   bos_token_id=1, eos_token_id=2, pad_token_id=0))
EPOCHS = 5
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
sched = get_linear_schedule_with_warmup(opt, 30, EPOCHS * len(train))

for ep in range(EPOCHS):
    model.train()
    tot = 0.0
    for batch in train:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step(); sched.step(); opt.zero_grad()
        tot += loss.item()
    print(f"epoch {ep} loss {tot / len(train):.4f} lr {sched.get_last_lr()[0]:.5f}")


def legal(s):
    """a sentence the grammar can produce"""
    if not s or s[-1] != "</s>":
        return False
    for part in " ".join(s[:-1]).split(" and then "):
        p = part.split()
        if len(p) < 3 or p[0] not in VERBS or p[1] != "the" or p[2] not in THINGS:
            return False
        need = {"move": "to", "copy": "to", "delete": "from"}.get(p[0])
        tail = p[3:]
        if (need is None) != (len(tail) == 0):
            return False
        if need and (len(tail) != 3 or tail[0] != need or tail[1] != "the" or tail[2] not in PLACES):
            return False
    return True


model.eval()
start = torch.full((200, 1), stoi["<s>"])
gen = model.generate(start, attention_mask=torch.ones_like(start), do_sample=True, top_k=0, max_length=MAXLEN, pad_token_id=0)
sents = [[words[i] for i in row[1:].tolist() if i != 0] for row in gen]
for s in sents[:4]:
    print("   ", " ".join(s))
print("share of legal sentences: %.3f" % (sum(map(legal, sents)) / len(sents)))
