"""Masked language model from scratch on a small artificial language.
Grammar: sentence = (det adj? noun verb det adj? noun adv?) with agreement between number of noun and verb."""
import random
import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, get_linear_schedule_with_warmup

SEED = 6
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
torch.set_num_threads(1)
PAD, CLS, SEP, MASK = 0, 1, 2, 3
words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "a", "many"]
nouns_s = [f"n{i}" for i in range(8)]; nouns_p = [f"n{i}s" for i in range(8)]
verbs_s = [f"v{i}s" for i in range(5)]; verbs_p = [f"v{i}" for i in range(5)]
adjs = [f"adj{i}" for i in range(4)]; advs = [f"adv{i}" for i in range(4)]
words += nouns_s + nouns_p + verbs_s + verbs_p + adjs + advs
tok = {w: i for i, w in enumerate(words)}
MAXLEN = 12


def np_(sub=True):
    plural = random.random() < 0.5
    out = ["many" if plural else "a"]
    k = random.randrange(8)
    if random.random() < 0.5:
        out.append(adjs[k % 4])
    out.append((nouns_p if plural else nouns_s)[k])
    return out, plural, k


def sentence():
    a, pl, k = np_()
    b, _, _ = np_()
    v = (verbs_p if pl else verbs_s)[k % 5]
    s = a + [v] + b + ([advs[k % 4]] if random.random() < 0.5 else [])
    ids = [CLS] + [tok[w] for w in s] + [SEP]
    return ids + [PAD] * (MAXLEN - len(ids))


data = torch.tensor([sentence() for _ in range(4500)])
train, test = data[:4000], data[4000:]


def mask_tokens(ids, p=0.15):
    labels = ids.clone()
    prob = torch.full(ids.shape, p)
    prob[ids <= SEP] = 0.0
    chosen = torch.bernoulli(prob).bool()
    labels[~chosen] = -100
    ids = ids.clone()
    ids[chosen & (torch.rand(ids.shape) < 0.8)] = MASK
    rnd = chosen & (ids != MASK) & (torch.rand(ids.shape) < 0.5)
    ids[rnd] = torch.randint(4, len(words), ids.shape)[rnd]
    return ids, labels


cfg = BertConfig(vocab_size=len(words), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=128, max_position_embeddings=MAXLEN, hidden_dropout_prob=0.05,
                 attention_probs_dropout_prob=0.05)
model = BertForMaskedLM(cfg)
BS, EPOCHS = 64, 9
steps = EPOCHS * (len(train) // BS)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
sched = get_linear_schedule_with_warmup(opt, int(0.1 * steps), steps)

model.train()
for ep in range(EPOCHS):
    perm, tot = torch.randperm(len(train)), 0.0
    for i in range(len(train) // BS):
        ids = train[perm[i * BS:(i + 1) * BS]]
        x, lab = mask_tokens(ids)
        out = model(input_ids=x, attention_mask=(ids != PAD).long(), labels=lab)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step(); sched.step(); opt.zero_grad()
        tot += out.loss.item()
    print(f"epoch {ep} mlm loss {tot / (len(train) // BS):.4f} lr {sched.get_last_lr()[0]:.2e}")

# how often is the verb number right when the verb is hidden?
model.eval()
vs = torch.tensor([tok[v] for v in verbs_s]); vp = torch.tensor([tok[v] for v in verbs_p])
is_v = torch.isin(test, torch.cat([vs, vp]))
x = test.clone(); x[is_v] = MASK
with torch.no_grad():
    pred = model(input_ids=x, attention_mask=(test != PAD).long()).logits.argmax(-1)
print("verb form recovered on unseen sentences: %.4f (chance 0.10)" % (pred[is_v] == test[is_v]).float().mean())
