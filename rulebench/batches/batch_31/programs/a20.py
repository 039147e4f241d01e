import torch
import random
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

SEED = 23
random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)

# ---- toy command language, character tokenizer -------------------------------------------------
VERBS = ["open", "close", "move", "copy", "delete"]
OBJ = {"open": ["door", "file"], "close": ["door", "window"], "move": ["box", "file"], "copy": ["file", "disk"],
       "delete": ["file", "user"]}
PLACE = ["at home", "in office", "on server"]


def sample():
    v = random.choice(VERBS)
    n = random.randint(1, 9)
    o = random.choice(OBJ[v])
    s = f"{v} {n} {o}{'s' if n > 1 else ''} {random.choice(PLACE)}."
    return s


corpus = " ".join(sample() for _ in range(6000))
chars = sorted(set(corpus))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in corpus])
BLOCK = 48
cut = int(0.9 * len(ids))
train, valid = ids[:cut], ids[cut:]
print("characters", len(ids), "vocabulary", len(chars))


def chunks(t):
    n = (len(t) - 1) // BLOCK
    # inputs, and the same text one character later as the targets
    return [(t[i * BLOCK:i * BLOCK + BLOCK], t[i * BLOCK + 1:i * BLOCK + BLOCK + 1]) for i in range(n)]


train_dl = DataLoader(chunks(train), batch_size=32, shuffle=True, drop_last=True)
valid_dl = DataLoader(chunks(valid), batch_size=64)

model = GPT2LMHeadModel(GPT2Config(vocab_size=len(chars), n_positions=BLOCK, n_embd=64, n_layer=2, n_head=4,
                                   resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0))
EPOCHS = 4
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
sched = get_cosine_schedule_with_warmup(opt, 40, EPOCHS * len(train_dl))

for epoch in range(EPOCHS):
    model.train()
    for step, (x, y) in enumerate(train_dl):
        out = model(input_ids=x, labels=y)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        if step % 40 == 0:
            print(f"epoch {epoch} step {step} loss {out.loss.item():.4f}")

model.eval()
hit = tot = 0
with torch.no_grad():
    for x, y in valid_dl:
        pred = model(input_ids=x).logits.argmax(-1)
        hit += (pred == y).sum().item()
        tot += y.numel()
    prompt = torch.tensor([[stoi[c] for c in "open "]])
    gen = prompt
    for _ in range(40):
        gen = torch.cat([gen, model(input_ids=gen).logits[:, -1].argmax(-1, keepdim=True)], 1)
print("sample:", "".join(chars[i] for i in gen[0].tolist()))
print("next-character accuracy on validation text: %.4f" % (hit / tot))
