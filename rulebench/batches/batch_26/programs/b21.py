import numpy as np
import torch
from transformers import T5Config, T5ForConditionalGeneration

# tiny T5: "spell out" a code -- every input symbol is replaced by its partner, order kept
torch.manual_seed(9)
np.random.seed(9)
torch.set_num_threads(1)

PAD, EOS = 0, 1
N_SYM = 12
perm = np.random.permutation(N_SYM)


def make(n):
    xs, ys = [], []
    for _ in range(n):
        k = np.random.randint(3, 6)
        s = np.random.randint(0, N_SYM, k)
        xs.append(list(s + 2) + [EOS])
        ys.append(list(perm[s] + 2 + N_SYM) + [EOS])
    L = 6
    X = torch.zeros(n, L, dtype=torch.long)
    Y = torch.zeros(n, L, dtype=torch.long)
    for i, (a, b) in enumerate(zip(xs, ys)):
        X[i, :len(a)] = torch.tensor(a)
        Y[i, :len(b)] = torch.tensor(b)
    return X, Y


cfg = T5Config(vocab_size=2 + 2 * N_SYM, d_model=48, d_kv=12, d_ff=96, num_layers=1, num_decoder_layers=1, num_heads=4,
               dropout_rate=0.0, pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD)
model = T5ForConditionalGeneration(cfg)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
X, Y = make(3000)
Xv, Yv = make(200)

model.train()
step = 0
for epoch in range(10):
    order = torch.randperm(len(X))
    for i in range(0, len(X), 64):
        b = order[i:i + 64]
        src, tgt = X[b], Y[b]
        labels = tgt.masked_fill(tgt == PAD, -100)
        loss = model(input_ids=src, attention_mask=(src != PAD).long(),
                     decoder_input_ids=tgt, labels=labels).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        if step % 100 == 0:
            print("step", step, "loss", round(loss.item(), 4))

model.eval()
gen = model.generate(input_ids=Xv, attention_mask=(Xv != PAD).long(), max_new_tokens=6, do_sample=False)[:, 1:]
gen = torch.nn.functional.pad(gen, (0, 6 - gen.shape[1]))
mask = Yv != PAD
print("token accuracy of generated answers: %.3f" % (gen == Yv)[mask].float().mean().item())
print("exact match: %.3f" % ((gen == Yv) | ~mask).all(1).float().mean().item())
