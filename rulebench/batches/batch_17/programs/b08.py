import random, torch
from transformers import GPT2Config, GPT2LMHeadModel

# GPT-2 learns to reverse four digits, the loss is only on the answer tokens
random.seed(0); torch.manual_seed(0)
EQ, EOS = 10, 11
def row(n):
    d = [int(c) for c in f"{n:04d}"]
    return d + [EQ] + d[::-1] + [EOS]
numbers = random.sample(range(10000), 2400)
rows = torch.tensor([row(n) for n in numbers])
train, test = rows[:2000], rows[2000:]

model = GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=10, n_embd=48, n_layer=2, n_head=4,
                                   resid_pdrop=0.0, attn_pdrop=0.0, embd_pdrop=0.0,
                                   bos_token_id=EOS, eos_token_id=EOS))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 50))
labels = train.clone()
labels[:, :5] = -100
step = 0
for epoch in range(16):
    model.train()
    for idx in torch.randperm(len(train)).split(50):
        loss = model(input_ids=train[idx], labels=labels[idx]).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        step += 1
    if epoch % 2 == 1:
        model.eval()
        with torch.no_grad():
            x = test[:, :5]
            for _ in range(4):
                x = torch.cat([x, model(input_ids=x).logits[:, -1:].argmax(-1)], 1)
        exact = (x[:, 5:] == test[:, 5:9]).all(1).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} exact match on new numbers {exact:.3f}")
