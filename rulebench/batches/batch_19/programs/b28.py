import argparse
import time
import numpy as np
import torch
from transformers import DistilBertConfig, DistilBertForTokenClassification


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=250)
    p.add_argument("--batch_size", type=int, default=16)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def make_batch(rng, n, length=16):
    """Mark the tokens of spans that start with 3 and end with 4."""
    ids = rng.integers(5, 40, (n, length))
    tags = np.zeros((n, length), dtype=int)
    for i in range(n):
        start = rng.integers(1, length - 6)
        end = start + rng.integers(2, 6)
        ids[i, start], ids[i, end] = 3, 4
        tags[i, start:end + 1] = 2
        tags[i, start] = 1
    return torch.tensor(ids), torch.tensor(tags)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    config = DistilBertConfig(vocab_size=40, dim=64, n_layers=2, n_heads=4, hidden_dim=128,
                              max_position_embeddings=32, num_labels=3)
    model = DistilBertForTokenClassification(config)
    model.half()
    print(f"{model.num_parameters()} parameters, dtype {model.dtype}")
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)

    started = time.time()
    model.train()
    for step in range(1, args.steps + 1):
        ids, tags = make_batch(rng, args.batch_size)
        out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=tags)
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 25 == 0 or step == 1:
            print(f"step {step} loss {out.loss.item():.4f} ({time.time() - started:.1f}s)")

    model.eval()
    ids, tags = make_batch(rng, 200)
    with torch.no_grad():
        pred = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.argmax(-1)
    entity = tags > 0
    print(f"token accuracy {(pred == tags).float().mean():.3f}  "
          f"recall on spans {(pred[entity] == tags[entity]).float().mean():.3f}")


if __name__ == "__main__":
    main()
