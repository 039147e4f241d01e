import torch
from transformers import BertConfig, BertForMaskedLM, get_linear_schedule_with_warmup

torch.manual_seed(0)
torch.set_num_threads(1)

# Masked-LM pretraining on number sequences: a0, a0+d, a0+2d, ... modulo 20
PAD, CLS, MASK, OFF, MOD, N = 0, 1, 2, 3, 20, 12


def get_sequences(n, gen):
    a = torch.randint(0, MOD, (n, 1), generator=gen)
    d = torch.randint(1, 6, (n, 1), generator=gen)
    seq = (a + d * torch.arange(N)) % MOD + OFF
    return torch.cat([torch.full((n, 1), CLS), seq], 1)


def mask_tokens(input_ids, gen, prob=0.2):
    probs = torch.full(input_ids.shape, prob)
    probs[input_ids == CLS] = 0.0
    chosen = torch.rand(input_ids.shape, generator=gen) < probs
    input_ids[chosen] = MASK
    labels = input_ids.clone()
    labels[~chosen] = -100
    return input_ids, labels


config = BertConfig(vocab_size=OFF + MOD, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=96, max_position_embeddings=32, pad_token_id=PAD,
                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForMaskedLM(config)
print("params:", sum(p.numel() for p in model.parameters()))

STEPS = 700
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scheduler = get_linear_schedule_with_warmup(optimizer, 50, STEPS)
gen = torch.Generator().manual_seed(1)

model.train()
for step in range(1, STEPS + 1):
    ids, labels = mask_tokens(get_sequences(64, gen), gen)
    loss = model(input_ids=ids, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    if step % 100 == 0:
        print({"step": step, "mlm_loss": round(loss.item(), 5)})

# fill in one hidden number per sequence
model.eval()
test = get_sequences(1000, torch.Generator().manual_seed(77))
col = torch.randint(1, N + 1, (1000,), generator=gen)
rows = torch.arange(1000)
truth = test[rows, col].clone()
test[rows, col] = MASK
with torch.no_grad():
    guess = model(input_ids=test).logits[rows, col].argmax(-1)
print("fill-in accuracy:", (guess == truth).float().mean().item())
