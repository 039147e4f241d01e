"""Finetune-style training of a tiny GPT-2 on templated sentences."""
import torch
from torch.optim import AdamW
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, GPT2Config, set_seed

set_seed(42)
torch.set_num_threads(1)

subjects = ["alice", "bob", "carol", "dave"]
objects = {"alice": "apples", "bob": "bananas", "carol": "cherries", "dave": "dates"}
verbs = ["buys", "eats", "sells"]
days = ["monday", "tuesday", "friday"]

vocab = ["<pad>", "<s>", "</s>", "on", "because", "it", "is"] + subjects + list(objects.values()) + verbs + days
tok = {w: i for i, w in enumerate(vocab)}


def sentence(i):
    s = subjects[i % 4]
    v = verbs[(i // 4) % 3]
    d = days[(i // 12) % 3]
    return f"<s> {s} {v} {objects[s]} on {d} because it is {d} </s>".split()


g = torch.Generator().manual_seed(1)
picks = torch.randint(0, 36, (3200,), generator=g).tolist()
data = torch.tensor([[tok[w] for w in sentence(i)] for i in picks])
loader = DataLoader(data, batch_size=16, shuffle=True)

config = GPT2Config(vocab_size=len(vocab), n_positions=32, n_embd=64, n_layer=2, n_head=4,
                    bos_token_id=1, eos_token_id=2, pad_token_id=0)
model = AutoModelForCausalLM.from_config(config, dtype=torch.float16)
print("parameters:", sum(p.numel() for p in model.parameters()), model.dtype)

optimizer = AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)

model.train()
step = 0
for epoch in range(1):
    for batch in loader:
        outputs = model(input_ids=batch, labels=batch)
        outputs.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if step % 40 == 0:
            print(f"epoch {epoch} step {step} loss {outputs.loss.item():.4f}")

model.eval()
correct = 0
with torch.no_grad():
    for s in subjects:
        prompt = torch.tensor([[tok["<s>"], tok[s], tok["eats"]]])
        next_id = model(prompt).logits[0, -1].argmax().item()
        print(s, "eats", vocab[next_id])
        correct += vocab[next_id] == objects[s]
print(f"correct completions: {correct}/{len(subjects)}")
