import numpy as np
import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
rng = np.random.default_rng(0)
PAD, EOS, OFFSET, N = 0, 1, 2, 12


def batch(n):
    """Source: random tokens. Target: the same tokens sorted."""
    lengths = rng.integers(2, 6, n)
    src = torch.full((n, 6), PAD)
    tgt = torch.full((n, 6), -100)
    for i, k in enumerate(lengths):
        toks = rng.integers(OFFSET, OFFSET + N, k)
        src[i, :k] = torch.tensor(toks)
        src[i, k] = EOS
        tgt[i, :k] = torch.tensor(np.sort(toks))
        tgt[i, k] = EOS
    return src, (src != PAD).long(), tgt


config = T5Config(vocab_size=OFFSET + N, d_model=64, d_kv=16, d_ff=128, num_layers=1,
                  num_decoder_layers=1, num_heads=4, dropout_rate=0.0, pad_token_id=PAD,
                  eos_token_id=EOS, decoder_start_token_id=PAD)
model = T5ForConditionalGeneration(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
steps = 350
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=steps)

model.train()
for step in range(1, steps + 1):
    src, mask, tgt = batch(48)
    loss = model(input_ids=src, attention_mask=mask, labels=tgt).loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if step % 35 == 0:
        print(f"step {step} loss {loss.item():.4f}")

model.eval()
src, mask, tgt = batch(100)
with torch.no_grad():
    out = model.generate(input_ids=src, attention_mask=mask, max_new_tokens=6, do_sample=False)
good = 0
for i in range(len(src)):
    want = [t for t in tgt[i].tolist() if t > EOS]
    got = []
    for t in out[i, 1:].tolist():
        if t == EOS:
            break
        got.append(t)
    good += got == want
print(f"sorted without a mistake: {good}/100")
