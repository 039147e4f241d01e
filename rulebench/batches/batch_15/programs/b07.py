import torch
from transformers import BertConfig, BertForMaskedLM

# masked language model on arithmetic-progression "sentences", 15% masking with 80/10/10
torch.manual_seed(0)
PAD, MASK, CLS, BASE = 0, 1, 2, 3
MOD = 17


def make(n):
    start = torch.randint(0, MOD, (n, 1))
    diff = torch.randint(1, 4, (n, 1))
    seq = (start + diff * torch.arange(14)) % MOD + BASE
    length = torch.randint(8, 15, (n, 1))
    mask = torch.arange(14) < length
    seq = torch.where(mask, seq, torch.tensor(PAD))
    ids = torch.cat([torch.full((n, 1), CLS), seq], 1)
    return ids, (ids != PAD).long()


def corrupt(ids, att):
    labels = ids.clone()
    pick = (torch.rand(ids.shape) < 0.15) & (att == 1) & (ids != CLS)
    labels[~pick] = -100
    r = torch.rand(ids.shape)
    inp = ids.clone()
    inp[pick & (r < 0.8)] = MASK
    rnd = pick & (r >= 0.9)
    inp[rnd] = torch.randint(BASE, BASE + MOD, (int(rnd.sum()),))
    return inp, labels


cfg = BertConfig(vocab_size=BASE + MOD, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=128, max_position_embeddings=16, pad_token_id=PAD,
                 hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForMaskedLM(cfg)
decay = [p for n, p in model.named_parameters() if p.ndim >= 2]
rest = [p for n, p in model.named_parameters() if p.ndim < 2]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=1.5e-3)
STEPS = 900
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) / 60, max(0.0, (STEPS - s) / (STEPS - 60))))

val_ids, val_att = make(500)
val_in, val_lab = corrupt(val_ids, val_att)
model.train()
for step in range(STEPS):
    ids, att = make(64)
    inp, lab = corrupt(ids, att)
    loss = model(input_ids=inp, attention_mask=att, labels=lab).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if (step + 1) % 150 == 0:
        model.eval()
        with torch.no_grad():
            out = model(input_ids=val_in, attention_mask=val_att, labels=val_lab)
        m = val_lab != -100
        acc = (out.logits.argmax(-1)[m] == val_lab[m]).float().mean()
        print(f"step {step + 1} loss {loss.item():.4f} val {out.loss.item():.4f} masked acc {acc.item():.4f}")
        model.train()
