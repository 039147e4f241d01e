"""LoRA adaptation of a tiny pretrained causal LM to a shifted dialect, the base stays as it is."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel, set_seed
from peft import LoraConfig, get_peft_model

set_seed(99)
VOCAB, LEN = 32, 24
base_map = torch.randperm(VOCAB)
dialect_map = base_map.clone()
swap = torch.randperm(VOCAB)[:12]
dialect_map[swap] = base_map[swap.roll(1)]


def walk(n, mapping, noise=0.1):
    x = torch.randint(0, VOCAB, (n, 1))
    cols = [x]
    for _ in range(LEN - 1):
        nxt = mapping[cols[-1]]
        rnd = torch.randint(0, VOCAB, nxt.shape)
        cols.append(torch.where(torch.rand(nxt.shape) < noise, rnd, nxt))
    return torch.cat(cols, 1)


@torch.no_grad()
def nll(m, mapping):
    m.eval()
    torch_state = torch.get_rng_state()
    torch.manual_seed(1)
    ids = walk(200, mapping)
    torch.set_rng_state(torch_state)
    value = m(input_ids=ids, labels=ids).loss.item()
    m.train()
    return value


base = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_positions=LEN, n_embd=64, n_layer=2, n_head=4,
                                  resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0))
opt = torch.optim.AdamW(base.parameters(), lr=2e-3)
for step in range(1, 201):
    ids = walk(32, base_map)
    loss = base(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"pretrain {step} loss {loss.item():.3f}")
print(f"base model: standard {nll(base, base_map):.3f} dialect {nll(base, dialect_map):.3f}")

model = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=16, lora_dropout=0.0, fan_in_fan_out=True,
                                        target_modules=["c_attn", "c_fc", "mlp.c_proj"]))
model.print_trainable_parameters()
opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2, weight_decay=0.0)
sched = torch.optim.lr_scheduler.LinearLR(opt, start_factor=1.0, end_factor=0.1, total_iters=220)
for step in range(1, 221):
    ids = walk(32, dialect_map)
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 55 == 0:
        print(f"lora {step} loss {loss.item():.3f} dialect {nll(model, dialect_map):.3f}")

with model.disable_adapter():
    print(f"adapter off: standard {nll(model, base_map):.3f}")
print(f"adapter on: dialect {nll(model, dialect_map):.3f}")
