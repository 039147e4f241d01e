import torch
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

set_seed(23)
# arithmetic-progression language: each sequence counts up modulo 20 with some step
VOCAB, LEN = 24, 17
BOS = 22


def make_batch(n):
    start = torch.randint(0, 20, (n, 1))
    step = torch.randint(1, 6, (n, 1))
    seq = (start + step * torch.arange(LEN)) % 20
    return torch.cat([torch.full((n, 1), BOS), seq], 1)


config = GPT2Config(vocab_size=VOCAB, n_positions=32, n_embd=48, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=BOS, eos_token_id=23)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

model.train()
for step in range(400):
    ids = make_batch(32)
    inputs, labels = ids[:, :-1], ids[:, 1:]
    out = model(input_ids=inputs, labels=labels)
    optimizer.zero_grad()
    out.loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print("step", step, "loss %.4f" % out.loss.item())

model.eval()
test = make_batch(200)
prompt = test[:, :5]
gen = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, do_sample=False,
                     pad_token_id=23)
n = min(gen.shape[1], 13)
print("example:", gen[0].tolist(), "expected", test[0, :13].tolist())
print("continuation accuracy:", (gen[:, 5:n] == test[:, 5:n]).float().mean().item())
