# GRPO by hand: tiny transformer, prompt "a b c", answer = the digits in ascending order, reward from a checker
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 6
torch.manual_seed(SEED)
DIG, PROMPT, ANS = 8, 4, 3                     # tokens 0..7 digits, 8 '='
VOCAB, LEN = DIG + 1, PROMPT + ANS


class Policy(nn.Module):
    def __init__(self, d=64, layers=2):
        super().__init__()
        self.emb, self.pos = nn.Embedding(VOCAB, d), nn.Parameter(torch.randn(LEN, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 128, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d, DIG)

    def forward(self, x):
        m = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.enc(self.emb(x) + self.pos[:x.size(1)], mask=m, is_causal=True))


def prompts(n):
    p = torch.randint(0, DIG, (n, 3))
    return torch.cat([p, torch.full((n, 1), DIG)], 1)


def reward(seq):
    gold = seq[:, :3].sort(1).values
    right = (seq[:, PROMPT:] == gold).float()
    return right.mean(1) * 0.5 + right.prod(1) * 0.5


@torch.no_grad()
def rollout(model, p, greedy=False):
    for _ in range(ANS):
        logits = model(p)[:, -1]
        nxt = logits.argmax(-1) if greedy else torch.distributions.Categorical(logits=logits).sample()
        p = torch.cat([p, nxt[:, None]], 1)
    return p


def token_logp(model, seq):
    lp = model(seq[:, :-1])[:, PROMPT - 1:].log_softmax(-1)
    return lp.gather(-1, seq[:, PROMPT:, None]).squeeze(-1)


policy = Policy()
# warm start on demonstrations half of which have shuffled answers
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
for it in range(250):
    p = prompts(64)
    gold = p[:, :3].sort(1).values
    bad = torch.rand(64) < 0.5
    gold[bad] = gold[bad][:, torch.randperm(3)]
    loss = -token_logp(policy, torch.cat([p, gold], 1)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print("after warm start: loss %.3f greedy reward %.3f" % (loss.item(), reward(rollout(policy, prompts(500), True)).mean()))

ref = copy.deepcopy(policy).requires_grad_(False)
opt = torch.optim.AdamW(policy.parameters(), lr=3e-4, weight_decay=0.0)
Q, G, BETA, CLIP = 24, 8, 0.02, 0.2
for it in range(1, 181):
    seq = rollout(policy, prompts(Q).repeat_interleave(G, 0))
    r = reward(seq)
    grp = r.view(Q, G)
    adv = ((grp - grp.mean(1, keepdim=True)) / (grp.std(1, keepdim=True) + 1e-4)).view(-1, 1)
    with torch.no_grad():
        old, ref_lp = token_logp(policy, seq), token_logp(ref, seq)
    for _ in range(2):
        lp = token_logp(policy, seq)
        ratio = (lp - old).exp()
        surr = torch.min(ratio * adv, ratio.clamp(1 - CLIP, 1 + CLIP) * adv)
        kl = (ref_lp - lp).exp() - (ref_lp - lp) - 1
        loss = -(surr - BETA * kl).mean()
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        opt.step()
    if it % 20 == 0:
        dead = (grp.std(1) == 0).float().mean().item()
        print(f"it {it} loss {loss.item():+.4f} reward {r.mean():.3f} kl {kl.mean():.3f} grad {gn:.3f} groups without signal {dead:.2f}")
print("greedy reward %.3f" % reward(rollout(policy, prompts(1000), True)).mean())
