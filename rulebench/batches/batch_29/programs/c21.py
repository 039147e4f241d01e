"""LoRA: a tiny GPT-2 learns to count upward, then adapters teach it to count downward while the base stays frozen."""
import torch, warnings
from transformers import GPT2Config, GPT2LMHeadModel, set_seed
from peft import LoraConfig, get_peft_model
warnings.filterwarnings("ignore")
SEED = 4
set_seed(SEED)
V, T = 20, 12
def batch(n, sign):
    a = torch.randint(0, V, (n, 1)); s = torch.randint(1, 4, (n, 1))
    return (a + sign * s * torch.arange(T)) % V

def train(m, sign, steps, lr):
    ps = [p for p in m.parameters() if p.requires_grad]
    print("training", sum(p.numel() for p in ps), "of", sum(p.numel() for p in m.parameters()), "parameters")
    opt = torch.optim.AdamW(ps, lr=lr, weight_decay=0.0)
    m.train()
    for i in range(steps):
        x = batch(32, sign)
        loss = m(input_ids=x, labels=x).loss
        loss.backward(); opt.step(); opt.zero_grad()
        if i % 50 == 0: print("  step", i, "loss %.3f" % loss.item())

@torch.no_grad()
def score(m, sign):
    m.eval(); x = batch(400, sign)
    return (m(input_ids=x).logits[:, 1:-1].argmax(-1) == x[:, 2:]).float().mean().item()

base = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=48, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0, resid_pdrop=0., embd_pdrop=0., attn_pdrop=0.))
train(base, +1, 400, 3e-3)
print("base: up %.3f down %.3f" % (score(base, 1), score(base, -1)))
model = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn", "c_fc", "c_proj"], fan_in_fan_out=True, task_type="CAUSAL_LM"))
train(model, -1, 400, 5e-3)
d = score(model, -1)
with model.disable_adapter():
    up = score(model, 1)
print("adapters on: down %.3f; adapters off: up %.3f" % (d, up))
