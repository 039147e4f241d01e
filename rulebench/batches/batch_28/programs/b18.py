# Reverse-a-string with a decoder-only model: prompts are left padded, only answers are scored.
import torch, random
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup

torch.manual_seed(0); random.seed(0)
PAD, BOS, SEP, EOS, FIRST, LETTERS = 0, 1, 2, 3, 4, 10
MAXN = 7
LEN = 2 * MAXN + 3


def example():
    w = [random.randrange(FIRST, FIRST + LETTERS) for _ in range(random.randint(3, MAXN))]
    return [BOS] + w + [SEP], w[::-1] + [EOS]


def collate(pairs):
    ids, lab, att = [], [], []
    for q, a in pairs:
        k = LEN - len(q) - len(a)
        ids.append([PAD] * k + q + a)
        lab.append([-100] * (k + len(q)) + a)
        att.append([0] * k + [1] * (len(q) + len(a)))
    att = torch.tensor(att)
    pos = (att.cumsum(1) - 1).clamp(min=0)
    return dict(input_ids=torch.tensor(ids), labels=torch.tensor(lab), attention_mask=att, position_ids=pos)


model = LlamaForCausalLM(LlamaConfig(vocab_size=FIRST + LETTERS, hidden_size=64, intermediate_size=128,
                                     num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64,
                                     pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS,
                                     tie_word_embeddings=True))
STEPS = 700
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1, betas=(0.9, 0.98))
sch = get_cosine_schedule_with_warmup(opt, 50, STEPS)
model.train()
for s in range(STEPS):
    out = model(**collate([example() for _ in range(64)]))
    out.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step(); sch.step(); opt.zero_grad()
    if s % 100 == 0:
        print(s, round(out.loss.item(), 4), "lr %.1e" % sch.get_last_lr()[0])

model.eval()
ok, n = 0, 150
for _ in range(n):
    q, a = example()
    gen = model.generate(torch.tensor([q]), attention_mask=torch.ones(1, len(q), dtype=torch.long),
                         max_new_tokens=MAXN + 2, do_sample=False)
    ok += gen[0, len(q):].tolist() == a
print("exact matches on fresh words: %.3f" % (ok / n))
