import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

# tiny language model of a random bigram language
torch.manual_seed(15)
V, T = 40, 24
P = torch.softmax(3.0 * torch.randn(V, V), dim=1)


def corpus(n):
    seq = torch.zeros(n, T, dtype=torch.long)
    seq[:, 0] = torch.randint(0, V, (n,))
    for t in range(1, T):
        seq[:, t] = torch.multinomial(P[seq[:, t - 1]], 1)[:, 0]
    return seq


data, held = corpus(1500), corpus(200)
model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=48, n_layer=2, n_head=4,
                                   bos_token_id=0, eos_token_id=0))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
EPOCHS, B = 6, 32
total = EPOCHS * (len(data) // B)
sched = get_linear_schedule_with_warmup(opt, 20, total)
model.train()
for ep in range(EPOCHS):
    perm = torch.randperm(len(data))
    run = 0.0
    for i in range(0, len(data) - B + 1, B):
        ids = data[perm[i:i + B]]
        out = model(input_ids=ids[:, :-1], labels=ids[:, 1:])
        opt.zero_grad()
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        run += out.loss.item()
    print(f"epoch {ep} loss {run / (len(data) // B):.4f}")

model.eval()
with torch.no_grad():
    logits = model(input_ids=held[:, :-1]).logits
    nll = torch.nn.functional.cross_entropy(logits.reshape(-1, V), held[:, 1:].reshape(-1))
    acc = (logits.argmax(-1) == held[:, 1:]).float().mean()
print("held-out next-token nll", nll.item(), "accuracy", acc.item())
best = P.max(1).values[held[:, :-1]].mean()
print("accuracy of the true bigram table", best.item())
