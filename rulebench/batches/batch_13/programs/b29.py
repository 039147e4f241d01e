"""Tiny randomly initialised T5 that learns to reverse a short token sequence."""
import argparse
import torch
from transformers import T5Config, T5ForConditionalGeneration, get_linear_schedule_with_warmup

PAD, EOS, FIRST, VOCAB = 0, 1, 2, 22


def make_batch(n, max_len=6):
    lens = torch.randint(3, max_len + 1, (n,))
    src = torch.full((n, max_len + 1), PAD)
    tgt = torch.full((n, max_len + 1), -100)
    for k, l in enumerate(lens.tolist()):
        w = torch.randint(FIRST, VOCAB, (l,))
        src[k, :l], src[k, l] = w, EOS
        tgt[k, :l], tgt[k, l] = w.flip(0), EOS
    return {"input_ids": src, "attention_mask": (src != PAD).long(), "labels": tgt}


def build():
    return T5ForConditionalGeneration(T5Config(
        vocab_size=VOCAB, d_model=64, d_kv=16, d_ff=128, num_layers=1, num_decoder_layers=1, num_heads=4,
        dropout_rate=0.0, pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD))


@torch.no_grad()
def exact_match(model, n=200):
    model.eval()
    b = make_batch(n)
    dec = torch.full((n, 1), PAD)
    for _ in range(b["labels"].shape[1]):
        out = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"], decoder_input_ids=dec)
        dec = torch.cat([dec, out.logits[:, -1].argmax(-1, keepdim=True)], 1)
    valid = b["labels"] != -100
    ok = (dec[:, 1:] == b["labels"]) | ~valid
    model.train()
    return ok.all(1).float().mean().item(), ok[valid].float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1200)
    ap.add_argument("--batch", type=int, default=48)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    model = build()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    sched = get_linear_schedule_with_warmup(opt, 60, args.steps)
    model.train()
    run = 0.0
    for step in range(1, args.steps + 1):
        loss = model(**make_batch(args.batch)).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        run += loss.item()
        if step % 200 == 0:
            em, tok = exact_match(model)
            print(f"step {step} loss {run / 200:.4f} exact {em:.3f} token acc {tok:.3f}")
            run = 0.0


if __name__ == "__main__":
    main()
