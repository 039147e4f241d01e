"""Train a tiny T5 to reverse-and-shift number strings (seq2seq sanity task)."""
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import T5Config, T5ForConditionalGeneration, get_linear_schedule_with_warmup, set_seed

PAD, EOS, FIRST = 0, 1, 2
N_SYMBOLS = 10
MAX_LEN = 5


class ReverseDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.samples = []
        for _ in range(n):
            length = int(torch.randint(3, MAX_LEN + 1, (1,), generator=g))
            src = torch.randint(0, N_SYMBOLS, (length,), generator=g)
            tgt = (src.flip(0) + 1) % N_SYMBOLS
            self.samples.append(((src + FIRST).tolist() + [EOS], (tgt + FIRST).tolist() + [EOS]))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


def collate(batch):
    src_len = max(len(s) for s, _ in batch)
    tgt_len = max(len(t) for _, t in batch)
    input_ids = torch.full((len(batch), src_len), PAD)
    labels = torch.full((len(batch), tgt_len), PAD)
    for i, (s, t) in enumerate(batch):
        input_ids[i, : len(s)] = torch.tensor(s)
        labels[i, : len(t)] = torch.tensor(t)
    return {"input_ids": input_ids, "attention_mask": (input_ids != PAD).long(), "labels": labels}


def exact_match(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for batch in loader:
            out = model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"],
                                 max_new_tokens=MAX_LEN + 1, do_sample=False)
            for pred, ref in zip(out[:, 1:], batch["labels"]):
                pred = [t for t in pred.tolist() if t not in (PAD, EOS)]
                ref = [t for t in ref.tolist() if t not in (PAD, EOS)]
                hits += pred == ref
                total += 1
    return hits / total


def main():
    set_seed(5)
    config = T5Config(vocab_size=FIRST + N_SYMBOLS, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
                      dropout_rate=0.0, pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD)
    model = T5ForConditionalGeneration(config)
    train_loader = DataLoader(ReverseDataset(4800, 0), batch_size=48, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(ReverseDataset(100, 1), batch_size=100, collate_fn=collate)

    epochs = 3
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 40, epochs * len(train_loader))

    for epoch in range(epochs):
        model.train()
        running = 0.0
        for batch in train_loader:
            out = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"],
                        decoder_input_ids=batch["labels"], labels=batch["labels"])
            out.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            running += out.loss.item()
        print(f"epoch {epoch + 1}: loss {running / len(train_loader):.4f}")
    print(f"exact match on held-out strings: {exact_match(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
