"""LoRA adaptation of a small causal LM: pretrain on counting up, adapt to counting down."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from peft import LoraConfig, get_peft_model

torch.manual_seed(6)
V, LEN = 24, 12


def batch(n, direction):
    start = torch.randint(0, V, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    return (start + direction * stride * torch.arange(LEN)) % V


def next_token_acc(m, direction):
    m.eval()
    x = batch(500, direction)
    with torch.no_grad():
        pred = m(input_ids=x).logits.argmax(-1)
    m.train()
    # the first two tokens fix the sequence
    return (pred[:, 1:-1] == x[:, 2:]).float().mean().item()


cfg = GPT2Config(vocab_size=V, n_positions=LEN, n_embd=64, n_layer=2, n_head=4,
                 resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
base = GPT2LMHeadModel(cfg)
opt = torch.optim.AdamW(base.parameters(), lr=2e-3)
for i in range(350):
    x = batch(48, +1)
    loss = base(input_ids=x, labels=x).loss
    opt.zero_grad(); loss.backward(); opt.step()
    if i % 100 == 0:
        print("pretrain", i, "loss %.3f" % loss.item())
print("base: up %.3f down %.3f" % (next_token_acc(base, 1), next_token_acc(base, -1)))

model = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn", "c_fc", "c_proj"],
                                        fan_in_fan_out=True, lora_dropout=0.0, task_type="CAUSAL_LM"))
model.print_trainable_parameters()
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0)
for i in range(350):
    for g in opt.param_groups:
        g["lr"] = 1e-2 * (1 - i / 350)
    x = batch(48, -1)
    loss = model(input_ids=x, labels=x).loss
    opt.zero_grad(); loss.backward(); opt.step()
    if i % 100 == 0:
        print("lora", i, "loss %.3f" % loss.item())
adapted = next_token_acc(model, -1)
with model.disable_adapter():
    print("adapters off: up %.3f" % next_token_acc(model, 1))
print("adapted: down %.3f" % adapted)
