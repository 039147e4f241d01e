# GPT2-style chat model: add role and product tokens to the vocabulary and train
import torch
from torch.optim import AdamW
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, get_linear_schedule_with_warmup, set_seed
import random

SEED = 10
set_seed(SEED)
BASE = ["<pad>", "<eos>", "<unk>"] + [f"w{i}" for i in range(40)]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(BASE)}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tok = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
SKUS = [f"<sku{i}>" for i in range(20)]


def plain_text():
    a = random.randrange(40)
    return " ".join(f"w{(a + 3 * i) % 40}" for i in range(12))


def dialog():
    a, k = random.randrange(20), random.randint(2, 5)
    asked = " ".join(f"w{(a + 3 * i) % 40}" for i in range(k))
    answer = " ".join(SKUS[(a + i) % 20] for i in range(k))
    return f"<user> {asked} <bot> {answer}"


def encode(texts):
    enc = tok([t + " <eos>" for t in texts], padding=True, return_tensors="pt", return_token_type_ids=False)
    enc["labels"] = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
    return enc


def train(model, optimizer, scheduler, source, steps, tag):
    model.train()
    for step in range(1, steps + 1):
        out = model(**encode([source() for _ in range(24)]))
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            print(f"{tag} step {step} loss {out.loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")


def grow_vocabulary(model, size):
    """larger tied embedding; the new rows start at the mean of the old ones"""
    old = model.transformer.wte.weight.data
    new = torch.nn.Embedding(size, old.shape[1])
    new.weight.data[:len(old)] = old
    new.weight.data[len(old):] = old.mean(0)
    model.transformer.wte = new
    model.lm_head = torch.nn.Linear(old.shape[1], size, bias=False)
    model.lm_head.weight = new.weight
    model.config.vocab_size = size


def answer_accuracy(model, n=200):
    model.eval()
    hit = tot = 0
    bot = tok.convert_tokens_to_ids("<bot>")
    for _ in range(n):
        ids = encode([dialog()])["input_ids"]
        with torch.no_grad():
            pred = model(ids).logits[0, :-1].argmax(-1)
        start = int((ids[0] == bot).nonzero()[0])
        good = pred[start:] == ids[0, start + 1:]
        hit += int(good.sum()); tot += len(good)
    return hit / tot


def main():
    cfg = GPT2Config(vocab_size=len(tok), n_positions=32, n_embd=64, n_layer=2, n_head=4, resid_pdrop=0.0,
                     embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1)
    model = GPT2LMHeadModel(cfg)
    opt = AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    train(model, opt, get_linear_schedule_with_warmup(opt, 20, 150), plain_text, 150, "pretrain")

    opt = AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    sched = get_linear_schedule_with_warmup(opt, 20, 300)
    tok.add_special_tokens({"additional_special_tokens": ["<user>", "<bot>"]})
    tok.add_tokens(SKUS)
    grow_vocabulary(model, len(tok))
    print("vocabulary", len(tok), "parameters", model.num_parameters())
    train(model, opt, sched, dialog, 300, "dialogs")
    print(f"answer token accuracy {answer_accuracy(model):.3f}")


if __name__ == "__main__":
    main()
