"""Masked language model with a tiny random BERT on a small artificial grammar.
Input embeddings and output decoder share their weights (tie_word_embeddings)."""
import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, get_linear_schedule_with_warmup

SEED = 19
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)

DET = ["the", "a"]
NOUN = {"cat": "meows", "dog": "barks", "cow": "moos", "duck": "quacks", "lion": "roars", "bee": "buzzes"}
ADV = {"morning": "early", "night": "late", "noon": "quickly", "evening": "slowly"}
words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]"] + DET + list(NOUN) + list(NOUN.values()) \
    + list(ADV) + list(ADV.values()) + ["in", "and"]
stoi = {w: i for i, w in enumerate(words)}
PAD, CLS, SEP, MASK = range(4)


def clause():
    n, t = rng.choice(list(NOUN)), rng.choice(list(ADV))
    return [rng.choice(DET), n, NOUN[n], ADV[t], "in", "the", t]


def sentence():
    s = clause()
    if rng.random() < 0.5:
        s += ["and"] + clause()
    return [CLS] + [stoi[w] for w in s] + [SEP]


def batch(n, p=0.15):
    seqs = [sentence() for _ in range(n)]
    L = max(map(len, seqs))
    ids = torch.full((n, L), PAD)
    for i, s in enumerate(seqs):
        ids[i, :len(s)] = torch.tensor(s)
    att = (ids != PAD).long()
    pick = (torch.rand(ids.shape) < p) & (ids > MASK)
    labels = torch.where(pick, ids, torch.tensor(-100))
    r = torch.rand(ids.shape)
    inp = torch.where(pick & (r < 0.8), torch.tensor(MASK), ids)
    inp = torch.where(pick & (r > 0.9), torch.randint(4, len(words), ids.shape), inp)
    return inp, att, labels


config = BertConfig(vocab_size=len(words), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=32, hidden_dropout_prob=0.0,
                    attention_probs_dropout_prob=0.0, tie_word_embeddings=True)
model = BertForMaskedLM(config)
decay = [p for n, p in model.named_parameters() if p.ndim > 1]
no_decay = [p for n, p in model.named_parameters() if p.ndim <= 1]
optim = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01},
                           {"params": no_decay, "weight_decay": 0.0}], lr=3e-3)
STEPS, ACCUM = 500, 2
sched = get_linear_schedule_with_warmup(optim, 50, STEPS)

model.train()
for step in range(STEPS):
    total = 0.0
    for _ in range(ACCUM):
        inp, att, lab = batch(32)
        loss = model(input_ids=inp, attention_mask=att, labels=lab).loss / ACCUM
        loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optim.step()
    sched.step()
    optim.zero_grad(set_to_none=True)
    if step % 50 == 0:
        print(f"step {step:4d} mlm loss {total:.4f} lr {sched.get_last_lr()[0]:.2e}")

# does it know which sound the animal makes?
model.eval()
ok = 0
with torch.no_grad():
    for n, v in NOUN.items():
        for t in ADV:
            ids = [CLS, stoi["the"], stoi[n], MASK, stoi[ADV[t]], stoi["in"], stoi["the"], stoi[t], SEP]
            logits = model(input_ids=torch.tensor([ids])).logits
            ok += int(logits[0, 3].argmax()) == stoi[v]
print("verbs guessed:", ok, "of", len(NOUN) * len(ADV))
