import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

set_seed(0)
chars = "0123456789+= "
stoi = {c: i for i, c in enumerate(chars)}
# counting sequences "3 4 5 6 7 ..." modulo ten, with a step of one or two
def line():
    s, k = torch.randint(0, 10, (1,)).item(), torch.randint(1, 3, (1,)).item()
    return torch.tensor([stoi[str((s + k * i) % 10)] for i in range(16)])
data = torch.stack([line() for _ in range(800)])
test = torch.stack([line() for _ in range(100)])

def collate(rows):
    ids = torch.stack(rows)
    labels = torch.cat([ids[:, 1:], torch.full((len(ids), 1), -100)], dim=1)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}

model = GPT2LMHeadModel(GPT2Config(vocab_size=len(chars), n_positions=32, n_embd=48, n_layer=2, n_head=4,
                                   resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=12))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
model.train()
for epoch in range(8):
    tot = 0
    loader = DataLoader(list(data), batch_size=32, shuffle=True, collate_fn=collate)
    for batch in loader:
        loss = model(**batch).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    print("epoch", epoch, "loss %.4f" % (tot / len(loader)))

model.eval()
with torch.no_grad():
    seq = test[:, :6]
    for _ in range(10):
        seq = torch.cat([seq, model(input_ids=seq).logits[:, -1].argmax(-1, keepdim=True)], 1)
print("prompt + generated:", "".join(chars[i] for i in seq[0]), " true:", "".join(chars[i] for i in test[0]))
print("share of right continuation characters:", (seq[:, 6:] == test[:, 6:]).float().mean().item())
