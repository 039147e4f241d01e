"""Pre-train a small BERT on one vocabulary domain, then adapt it to another with LoRA (base frozen)."""
import os
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("transformers").setLevel(logging.ERROR)
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(26)
V, L = 100, 16


def data(n, lo):
    """class 1 if more tokens come from [lo, lo+10) than from [lo+10, lo+20)"""
    x = torch.randint(60, V, (n, L))
    y = torch.randint(0, 2, (n,))
    for i in range(n):
        k = int(torch.randint(2, 5, (1,)))
        w = torch.randperm(L - 1)[:2 * k - 1] + 1
        a = torch.randint(lo, lo + 10, (len(w),))
        b = torch.randint(lo + 10, lo + 20, (len(w),))
        major, minor = (a, b) if y[i] else (b, a)
        x[i, w[:k]] = major[:k]
        x[i, w[k:]] = minor[k:]
    x[:, 0] = 1
    return x, y


cfg = BertConfig(vocab_size=V, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                 max_position_embeddings=L, num_labels=2, initializer_range=0.08,
                 hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
base = BertForSequenceClassification(cfg)


def loop(model, x, y, xv, yv, lr, epochs, tag):
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    for e in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(32):
            loss = model(input_ids=x[idx], labels=y[idx]).loss
            opt.zero_grad(); loss.backward(); opt.step()
        model.eval()
        with torch.no_grad():
            acc = (model(input_ids=xv).logits.argmax(1) == yv).float().mean().item()
        if e % 2 == 1:
            print(f"{tag} epoch {e} loss {loss.item():.4f} val acc {acc:.3f}")


loop(base, *data(800, 10), *data(300, 10), 2e-3, 6, "pretrain")
peft = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value", "dense", "word_embeddings"],
                                       modules_to_save=["classifier"]))
peft.print_trainable_parameters()
loop(peft, *data(800, 30), *data(300, 30), 5e-3, 10, "lora")
