import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(20)
DIG, SEP, EOS = 16, 16, 17
V = 18


def batch(n, length):
    a = torch.randint(0, DIG, (n, length))
    s = a.sort(1).values
    sep, eos = torch.full((n, 1), SEP), torch.full((n, 1), EOS)
    ids = torch.cat([a, sep, s, eos], 1)
    labels = ids.clone()
    labels[:, :length + 1] = -100       # learn only the answer
    return ids, labels


cfg = LlamaConfig(vocab_size=V, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, max_position_embeddings=64, bos_token_id=None, eos_token_id=EOS, pad_token_id=None)
model = LlamaForCausalLM(cfg)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.98), weight_decay=0.05)
STAGES = [(3, 200), (5, 250), (8, 350)]
total = sum(s for _, s in STAGES)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-3, total_steps=total, pct_start=0.2)


@torch.no_grad()
def exact(length, n=200):
    model.eval()
    ids, _ = batch(n, length)
    out = ids[:, :length + 1]
    for _ in range(length + 1):
        nxt = model(input_ids=out).logits[:, -1].argmax(-1, keepdim=True)
        out = torch.cat([out, nxt], 1)
    model.train()
    return (out == ids).all(1).float().mean().item()


step = 0
model.train()
for length, n in STAGES:
    for _ in range(n):
        ids, labels = batch(64, length)
        loss = model(input_ids=ids, labels=labels).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        step += 1
        if step % 50 == 0:
            print(f"step {step} length {length} loss {loss.item():.4f}")
    print(f"-- after length {length}: exact match {exact(length):.3f}")
