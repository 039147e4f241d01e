"""Tiny Llama that learns to add two numbers."""
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup, set_seed

PAD, BOS, EOS, PLUS, EQ = 10, 11, 12, 13, 14
VOCAB_SIZE = 15
ACCUM = 4


def encode(a, b):
    prompt = [BOS] + [int(c) for c in str(a)] + [PLUS] + [int(c) for c in str(b)] + [EQ]
    answer = [int(c) for c in str(a + b)][::-1] + [EOS]
    return prompt, answer


class Sums(Dataset):
    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        prompt, answer = encode(*self.pairs[i])
        return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


def collate(rows):
    width = max(len(r["input_ids"]) for r in rows)
    ids = [r["input_ids"] + [PAD] * (width - len(r["input_ids"])) for r in rows]
    labels = [r["labels"] + [-100] * (width - len(r["labels"])) for r in rows]
    ids = torch.tensor(ids)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": torch.tensor(labels)}


@torch.no_grad()
def solve_rate(model, pairs):
    model.eval()
    prompts, answers = zip(*(encode(a, b) for a, b in pairs))
    width = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (width - len(p)) + p for p in prompts])
    out = model.generate(input_ids=ids, attention_mask=(ids != PAD).long(), max_new_tokens=4, do_sample=False)
    ok = 0
    for row, ans in zip(out[:, width:].tolist(), answers):
        ok += row[: len(ans)] == ans
    model.train()
    return ok / len(pairs)


def main():
    set_seed(2)
    torch.set_num_threads(1)
    all_pairs = [(a, b) for a in range(30) for b in range(30)]
    order = torch.randperm(len(all_pairs)).tolist()
    train_pairs = [all_pairs[i] for i in order[:800]]
    test_pairs = [all_pairs[i] for i in order[800:]]

    config = LlamaConfig(vocab_size=VOCAB_SIZE, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
                         pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS)
    model = LlamaForCausalLM(config)
    loader = DataLoader(Sums(train_pairs), batch_size=16, shuffle=True, collate_fn=collate, drop_last=True)
    epochs = 20
    updates = epochs * len(loader) // ACCUM
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.1)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 20, updates)

    micro = 0
    for epoch in range(epochs):
        running = 0.0
        for batch in loader:
            loss = model(**batch).loss
            (loss / ACCUM).backward()
            running += loss.item()
            micro += 1
            if micro % ACCUM == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        if (epoch + 1) % 4 == 0:
            print(f"epoch {epoch + 1} updates {micro // ACCUM} loss {running / len(loader):.4f} "
                  f"held-out sums solved {solve_rate(model, test_pairs):.3f}")


if __name__ == "__main__":
    main()
