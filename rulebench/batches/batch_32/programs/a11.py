# LoRA on a tiny GPT-2: pre-train on one sequence family, adapt to a second one.
import torch
from transformers import GPT2Config, GPT2LMHeadModel, set_seed
from peft import LoraConfig, get_peft_model

SEED = 21
set_seed(SEED)
torch.set_num_threads(1)
V, T = 32, 20


def batch(n, steps):
    start = torch.randint(0, V, (n, 1))
    k = torch.tensor(steps)[torch.randint(0, len(steps), (n,))].unsqueeze(1)
    return (start + k * torch.arange(T)) % V


def loss_on(m, steps):
    m.eval()
    with torch.no_grad():
        x = batch(256, steps)
        lg = m(input_ids=x).logits[:, 2:-1]
        acc = (lg.argmax(-1) == x[:, 3:]).float().mean().item()
    m.train()
    return acc


def train(m, steps, n_it, lr, name):
    opt = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=lr)
    for i in range(n_it):
        x = batch(32, steps)
        loss = m(input_ids=x, labels=x).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        if i % 100 == 0:
            print(name, i, round(loss.item(), 4))


base = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=64, n_layer=2, n_head=4,
                                  bos_token_id=0, eos_token_id=0,
                                  resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
train(base, [1, 2, 3, 5], 600, 2e-3, "pretrain")
print("source accuracy", round(loss_on(base, [1, 2, 3, 5]), 3))
print("target accuracy before", round(loss_on(base, [7, 9]), 3))

model = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=16, fan_in_fan_out=True,
                                        target_modules=["c_attn", "c_proj", "c_fc"]))
model.print_trainable_parameters()
train(model, [7, 9], 500, 5e-3, "lora")
print("target accuracy after", round(loss_on(model, [7, 9]), 3))
