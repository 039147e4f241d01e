# Train a very small GPT2 from scratch to continue number sequences
# like  7 10 13 16 19 ...  (everything modulo 40)
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import random
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

SEED = 77
random.seed(SEED)
torch.manual_seed(SEED)

MOD = 40
BOS, PAD = MOD, MOD + 1
LENGTH = 14
STEPS = [1, 2, 3, 5, 7, 11]


def make_sequence():
    start, step = random.randrange(MOD), random.choice(STEPS)
    return [(start + i * step) % MOD for i in range(LENGTH)]


def collate(sequences):
    input_ids = torch.tensor([[BOS] + s for s in sequences])
    # the model has to predict the next token
    labels = torch.full_like(input_ids, -100)
    labels[:, :-1] = input_ids[:, 1:]
    return {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids), "labels": labels}


train_data = [make_sequence() for _ in range(3000)]
loader = DataLoader(train_data, batch_size=50, shuffle=True, collate_fn=collate)

config = GPT2Config(vocab_size=MOD + 2, n_positions=32, n_embd=64, n_layer=2, n_head=4,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                    bos_token_id=BOS, eos_token_id=PAD, pad_token_id=PAD)
model = GPT2LMHeadModel(config)
print("parameters: %.2fM" % (model.num_parameters() / 1e6))

epochs = 8
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
scheduler = get_linear_schedule_with_warmup(optimizer, 40, epochs * len(loader))

for epoch in range(epochs):
    model.train()
    total = 0.0
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        total += loss.item()
    print("epoch %d: train loss %.4f" % (epoch + 1, total / len(loader)))

model.eval()
correct = n = 0
tests = [make_sequence() for _ in range(200)]
prompt = torch.tensor([[BOS] + s[:6] for s in tests])
out = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=LENGTH - 6,
                     min_new_tokens=LENGTH - 6, do_sample=False)
for i in range(3):
    print("prompt", tests[i][:6], "->", out[i, 7:].tolist(), " expected", tests[i][6:])
expected = torch.tensor([s[6:] for s in tests])
print("generated numbers that are right: %.3f" % (out[:, 7:] == expected).float().mean().item())
