"""Masked language modelling with a tiny BERT on modular counting sequences."""
import argparse
import torch
from transformers import BertConfig, BertForMaskedLM, get_linear_schedule_with_warmup

PAD, MASK, CLS, SEP, BASE = 0, 1, 2, 3, 4


def batch_sequences(n, g, vocab=20, max_len=16):
    """[CLS] a a+d a+2d ... [SEP] (modulo the vocabulary), padded on the right."""
    ids = torch.full((n, max_len + 2), PAD)
    for i in range(n):
        k = int(torch.randint(6, max_len + 1, (1,), generator=g))
        start, stride = torch.randint(0, vocab, (1,), generator=g), torch.randint(1, 4, (1,), generator=g)
        w = (start + stride * torch.arange(k)) % vocab + BASE
        row = torch.cat([torch.tensor([CLS]), w, torch.tensor([SEP])])
        ids[i, :len(row)] = row
    return ids


def mask_tokens(ids, g, p=0.15, vocab=20):
    labels = ids.clone()
    pick = (torch.rand(ids.shape, generator=g) < p) & (ids >= BASE)
    labels[~pick] = -100
    u = torch.rand(ids.shape, generator=g)
    out = ids.clone()
    out[pick & (u < 0.8)] = MASK
    swap = pick & (u >= 0.8) & (u < 0.9)
    out[swap] = torch.randint(0, vocab, ids.shape, generator=g)[swap] + BASE
    return out, labels


@torch.no_grad()
def masked_accuracy(model, g):
    model.eval()
    ids = batch_sequences(300, g)
    x, y = mask_tokens(ids, g)
    pred = model(input_ids=x, attention_mask=(ids != PAD).long()).logits.argmax(-1)
    keep = y != -100
    return (pred[keep] == y[keep]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--batch", type=int, default=48)
    ap.add_argument("--lr", type=float, default=2e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    cfg = BertConfig(vocab_size=24, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                     max_position_embeddings=32, pad_token_id=PAD, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForMaskedLM(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.01)
    sched = get_linear_schedule_with_warmup(opt, 50, a.steps)
    for step in range(1, a.steps + 1):
        model.train()
        ids = batch_sequences(a.batch, g)
        x, y = mask_tokens(ids, g)
        loss = model(input_ids=x, attention_mask=(ids != PAD).long(), labels=y).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 100 == 0:
            acc = masked_accuracy(model, torch.Generator().manual_seed(5))
            print(f"step {step} loss {loss.item():.4f} masked acc {acc:.3f}")


if __name__ == "__main__":
    main()
