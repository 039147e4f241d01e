"""LoRA adaptation of a small encoder: train on task A, adapt to task B with peft."""
import numpy as np
import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, set_seed

VOCAB, SEQ = 60, 16


def make_task(n, groups, seed):
    """The class of a sequence is the token group that appears most often."""
    rng = np.random.default_rng(seed)
    n_groups = len(groups)
    labels = rng.integers(0, n_groups, n)
    x = rng.integers(2, VOCAB, (n, SEQ))
    for i, lab in enumerate(labels):
        pos = rng.choice(np.arange(1, SEQ), 5, replace=False)
        x[i, pos] = rng.choice(groups[lab], 5)
    x[:, 0] = 1
    return TensorDataset(torch.tensor(x), torch.tensor(labels))


def train(model, ds, lr, epochs):
    loader = DataLoader(ds, batch_size=32, shuffle=True)
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = model(input_ids=x, labels=y).loss
            loss.backward()
            opt.step()
            opt.zero_grad()
            total += loss.item()
        print(f"  epoch {epoch + 1} loss {total / len(loader):.4f}")


def accuracy(model, ds):
    model.eval()
    x, y = ds.tensors
    with torch.no_grad():
        return (model(input_ids=x).logits.argmax(-1) == y).float().mean().item()


def main():
    set_seed(0)
    torch.set_num_threads(1)
    base_cfg = dict(vocab_size=VOCAB, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=128, max_position_embeddings=32,
                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    groups_a = [np.arange(2 + 6 * k, 8 + 6 * k) for k in range(3)]
    model = BertForSequenceClassification(BertConfig(num_labels=3, **base_cfg))
    print("pretraining on task A")
    train(model, make_task(2400, groups_a, 1), lr=1e-3, epochs=3)
    print(f"task A accuracy {accuracy(model, make_task(500, groups_a, 2)):.3f}")

    # new head with six classes on top of the pretrained encoder
    groups_b = [np.arange(2 + 6 * k, 8 + 6 * k) for k in range(6)]
    new = BertForSequenceClassification(BertConfig(num_labels=6, **base_cfg))
    new.bert.load_state_dict(model.bert.state_dict())
    lora = LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules=["query", "value"])
    new = get_peft_model(new, lora)
    new.print_trainable_parameters()
    print("adapting to task B")
    train(new, make_task(2400, groups_b, 3), lr=2e-3, epochs=5)
    print(f"task B accuracy {accuracy(new, make_task(800, groups_b, 4)):.3f}")


if __name__ == "__main__":
    main()
