"""DPO written by hand for a tiny GPT2: annotators prefer answers that count up (85 % of the time)."""
import copy
import random
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

SEED = 29
set_seed(SEED)
N, EOS, SEP, V = 30, 30, 31, 32          # numbers 0..29, eos, separator
LEN = 6


def answer(start, up):
    return [(start + (i + 1) * (1 if up else -1)) % N for i in range(LEN - 1)] + [EOS]


def rows(k, mode):
    out = []
    for _ in range(k):
        s = random.randrange(N)
        up = {"mixed": random.random() < 0.5, "up": True, "down": False}[mode]
        out.append((s, [s, SEP] + answer(s, up)))
    return torch.tensor([r for _, r in out])


def pair(k):
    s = [random.randrange(N) for _ in range(k)]
    up = [random.random() < 0.85 for _ in s]
    return (torch.tensor([[a, SEP] + answer(a, u) for a, u in zip(s, up)]),
            torch.tensor([[a, SEP] + answer(a, not u) for a, u in zip(s, up)]))


def logps(model, ids):
    lp = model(ids).logits[:, :-1].log_softmax(-1)
    tok = lp.gather(-1, ids[:, 1:, None]).squeeze(-1)
    return tok[:, 1:].sum(-1)             # the answer starts after the separator


def generate_stats(model, n=200):
    ids = torch.tensor([[random.randrange(N), SEP] for _ in range(n)])
    with torch.no_grad():
        for _ in range(LEN):
            nxt = torch.distributions.Categorical(logits=model(ids).logits[:, -1]).sample()
            ids = torch.cat([ids, nxt[:, None]], 1)
    up = sum(r[2:].tolist() == answer(int(r[0]), True) for r in ids) / n
    down = sum(r[2:].tolist() == answer(int(r[0]), False) for r in ids) / n
    return up, down


cfg = GPT2Config(vocab_size=V, n_positions=16, n_embd=64, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
                 attn_pdrop=0.0, bos_token_id=EOS, eos_token_id=EOS)
policy = GPT2LMHeadModel(cfg)
opt = torch.optim.AdamW(policy.parameters(), lr=3e-3)
for step in range(1, 401):
    ids = rows(32, "mixed")
    loss = -logps(policy, ids).mean() / LEN
    opt.zero_grad()
    loss.backward()
    opt.step()
print("sft loss %.3f, generated up/down %.2f/%.2f" % (loss.item(), *generate_stats(policy)))

ref = copy.copy(policy)
ref.eval()
opt = torch.optim.AdamW(policy.parameters(), lr=1e-4, weight_decay=0.0)
BETA = 0.5
for step in range(1, 201):
    chosen, rejected = pair(32)
    pc, pr = logps(policy, chosen), logps(policy, rejected)
    with torch.no_grad():
        rc, rr = logps(ref, chosen), logps(ref, rejected)
    chosen_reward, rejected_reward = BETA * (pc - rc), BETA * (pr - rr)
    loss = -F.logsigmoid(chosen_reward - rejected_reward).mean()
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()
    if step % 20 == 0:
        acc = (chosen_reward > rejected_reward).float().mean().item()
        print(f"dpo {step} loss {loss.item():.4f} reward acc {acc:.2f} margin {(chosen_reward - rejected_reward).mean():.3f} "
              f"logp chosen {pc.mean():.2f} rejected {pr.mean():.2f}")
print("after dpo, generated up/down %.2f/%.2f" % generate_stats(policy))
