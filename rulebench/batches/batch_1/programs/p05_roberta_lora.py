"""
LoRA adaptation with PEFT.  Step 1: train a small classifier on task A.  Step 2: adapt it with LoRA to
task B (same kind of input, another labelling rule).
"""
import torch
from transformers import RobertaConfig, RobertaForSequenceClassification
from peft import LoraConfig, get_peft_model, TaskType

torch.manual_seed(12)
g = torch.Generator().manual_seed(12)


def data(n, task):
    x = torch.randint(5, 25, (n, 12), generator=g)
    first, last = x[:, 1], x[:, -1]
    y = (first > 14).long() if task == "A" else (last > 14).long()
    x[:, 0] = 0
    return x, y


cfg = RobertaConfig(vocab_size=25, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                    max_position_embeddings=40, num_labels=2, pad_token_id=2, bos_token_id=0, eos_token_id=3)
model = RobertaForSequenceClassification(cfg)


def fit(model, optimizer, x, y, epochs, tag):
    for ep in range(epochs):
        model.train()
        losses = []
        for idx in torch.randperm(len(x)).split(32):
            out = model(input_ids=x[idx], labels=y[idx])
            out.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(out.loss.item())
        print(f"[{tag}] epoch {ep} loss {sum(losses) / len(losses):.4f}")


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(input_ids=x).logits.argmax(-1) == y).float().mean().item()


xa, ya = data(1500, "A")
fit(model, torch.optim.AdamW(model.parameters(), lr=1e-3), xa, ya, 4, "task A")
print("task A acc:", accuracy(model, *data(400, "A")))

optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["query", "key", "value"])
model = get_peft_model(model, lora)
model.print_trainable_parameters()
xb, yb = data(2000, "B")
fit(model, optimizer, xb, yb, 8, "task B / lora")
print("task B acc:", accuracy(model, *data(400, "B")))
