# tiny GPT-2 that learns to sort: "BOS unsorted SEP sorted EOS", loss only on the answer
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
PAD, BOS, SEP, EOS, D = 0, 1, 2, 3, 8
MAXN = 4


def batch(n):
    ids = torch.full((n, 2 * MAXN + 3), PAD)
    labels = torch.full_like(ids, -100)
    for i in range(n):
        k = torch.randint(2, MAXN + 1, (1,)).item()
        v = torch.randint(0, D, (k,)) + 4
        seq = torch.cat([torch.tensor([BOS]), v, torch.tensor([SEP]), v.sort().values, torch.tensor([EOS])])
        ids[i, :len(seq)] = seq
        labels[i, k + 2:len(seq)] = seq[k + 2:]
    return ids, (ids != PAD).long(), labels


cfg = GPT2Config(vocab_size=D + 4, n_positions=16, n_embd=48, n_layer=2, n_head=4, bos_token_id=BOS,
                 eos_token_id=EOS, pad_token_id=PAD, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
model = GPT2LMHeadModel(cfg)
steps = 400
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 30) * (1 - 0.9 * s / steps))
vi, vm, vl = batch(200)

for step in range(1, steps + 1):
    model.train()
    ids, mask, labels = batch(32)
    loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    opt.zero_grad()
    if step % 80 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(input_ids=vi, attention_mask=vm).logits[:, :-1].argmax(-1)
        tgt = vl[:, 1:]
        keep = tgt != -100
        exact = ((pred == tgt) | ~keep).all(1).float().mean()
        print(f"step {step} loss {loss.item():.3f} token acc {(pred == tgt)[keep].float().mean():.3f} exact {exact:.3f}")
