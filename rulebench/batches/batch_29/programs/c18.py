# Tiny GPT-2 on a hand-made grammar, own collate function
import torch, random
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel

random.seed(0); torch.manual_seed(0)
words = ["<pad>", "<eos>", "the", "a", "cat", "dog", "bird", "sees", "hears", "likes", "small", "big", "and", "runs", "sleeps"]
tok = {w: i for i, w in enumerate(words)}
PAD, EOS = 0, 1

def sentence():
    def np_(): return [random.choice(["the", "a"])] + ([random.choice(["small", "big"])] if random.random() < .5 else []) + [random.choice(["cat", "dog", "bird"])]
    s = np_()
    s += ([random.choice(["sees", "hears", "likes"])] + np_()) if random.random() < .6 else [random.choice(["runs", "sleeps"])]
    if random.random() < .4:
        s += ["and", random.choice(["runs", "sleeps"])]
    return [tok[w] for w in s] + [EOS]

def collate(batch):
    n = max(map(len, batch))
    ids = torch.full((len(batch), n), PAD); labels = torch.full((len(batch), n), -100)
    att = torch.zeros(len(batch), n, dtype=torch.long)
    for i, s in enumerate(batch):
        ids[i, :len(s)] = torch.tensor(s); att[i, :len(s)] = 1
        labels[i, :len(s) - 1] = torch.tensor(s[1:])      # next token is the target
    return dict(input_ids=ids, attention_mask=att, labels=labels)

train = [sentence() for _ in range(4000)]
test = [sentence() for _ in range(500)]
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_positions=32, n_embd=48, n_layer=2, n_head=4,
                                   bos_token_id=EOS, eos_token_id=EOS, resid_pdrop=0., embd_pdrop=0., attn_pdrop=0.))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
model.train()
for epoch in range(4):
    tot = 0
    for k, b in enumerate(DataLoader(train, 32, shuffle=True, collate_fn=collate)):
        loss = model(**b).loss
        loss.backward(); opt.step(); opt.zero_grad()
        tot += loss.item()
    print(f"epoch {epoch}: loss {tot/(k+1):.4f}")

model.eval()
nll = n = 0
with torch.no_grad():
    for s in test:
        lp = model(input_ids=torch.tensor([s])).logits[0, :-1].log_softmax(-1)
        nll -= lp[torch.arange(len(s) - 1), torch.tensor(s[1:])].sum().item(); n += len(s) - 1
print("test perplexity per token: %.3f" % torch.tensor(nll / n).exp())
