"""Adapt a small causal LM to a new rule with PEFT LoRA."""
import random
import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel
from peft import LoraConfig, get_peft_model

N, LEN = 24, 10


def rows(n, step, seed):
    rng = random.Random(seed)
    return [torch.tensor([(s + step * k) % N for k in range(LEN)]) for s in (rng.randrange(N) for _ in range(n))]


def collate(batch):
    ids = torch.stack(batch)
    labels = ids.clone()
    labels[:, :2] = -100
    return {"input_ids": ids, "labels": labels}


@torch.no_grad()
def next_token_accuracy(model, data):
    model.eval()
    ids = torch.stack(data)
    pred = model(input_ids=ids).logits[:, 1:-1].argmax(-1)
    return (pred == ids[:, 2:]).float().mean().item()


def run(model, data, val, epochs, lr, tag):
    params = [p for p in model.parameters() if p.requires_grad]
    print(f"{tag}: {sum(p.numel() for p in params)} of {sum(p.numel() for p in model.parameters())} parameters train")
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    loader = DataLoader(data, 32, shuffle=True, collate_fn=collate)
    for ep in range(epochs):
        model.train()
        tot = 0.0
        for batch in loader:
            loss = model(**batch).loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        if ep % 2 == 1:
            print(f"{tag} epoch {ep + 1} loss {tot / len(loader):.4f} accuracy {next_token_accuracy(model, val):.4f}")


def main():
    torch.manual_seed(0)
    cfg = GPT2Config(vocab_size=N, n_positions=LEN, n_embd=48, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                     bos_token_id=0, eos_token_id=0)
    base = GPT2LMHeadModel(cfg)
    run(base, rows(1000, 3, 0), rows(100, 3, 1), 6, 3e-3, "pretrain")
    new_train, new_val = rows(1000, 7, 2), rows(100, 7, 3)
    print(f"new rule before adaptation {next_token_accuracy(base, new_val):.4f}")
    peft = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True, task_type="CAUSAL_LM"))
    run(peft, new_train, new_val, 8, 5e-3, "lora")
    merged = peft.merge_and_unload()
    print(f"merged accuracy {next_token_accuracy(merged, new_val):.4f}")


if __name__ == "__main__":
    main()
