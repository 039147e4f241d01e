"""SFT with trl on prompt/completion pairs, tiny Qwen-style model and word tokenizer."""
import random

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed
from trl import SFTConfig, SFTTrainer

CAPITALS = {"france": "paris", "italy": "rome", "spain": "madrid", "japan": "tokyo", "egypt": "cairo", "peru": "lima",
            "kenya": "nairobi", "norway": "oslo"}
TEMPLATES = ["what is the capital of {c} ?", "name the capital of {c} .", "tell me {c} capital please"]


def build_tokenizer():
    words = sorted({w for t in TEMPLATES for w in t.replace("{c}", "").split()} | set(CAPITALS) | set(CAPITALS.values()))
    vocab = {w: i for i, w in enumerate(["<pad>", "<unk>", "<eos>", "answer", ":"] + words)}
    tok = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>")


def build_dataset(n):
    rows = []
    for _ in range(n):
        country = random.choice(list(CAPITALS))
        prompt = random.choice(TEMPLATES).format(c=country) + " answer :"
        rows.append({"prompt": prompt, "completion": f" {CAPITALS[country]}"})
    return Dataset.from_list(rows)


def main():
    set_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    tokenizer = build_tokenizer()
    config = Qwen2Config(vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                         pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id)
    model = Qwen2ForCausalLM(config)
    args = SFTConfig(output_dir="/tmp/tiny_sft", per_device_train_batch_size=8, num_train_epochs=2, learning_rate=2e-3,
                     logging_steps=25, save_strategy="no", report_to=[], completion_only_loss=True, max_length=32,
                     disable_tqdm=True, use_cpu=True, bf16=False, gradient_checkpointing=False, warmup_steps=10)
    trainer = SFTTrainer(model=model, args=args, train_dataset=build_dataset(640), processing_class=tokenizer)
    trainer.train()

    model.eval()
    correct = 0
    for country, capital in CAPITALS.items():
        ids = tokenizer(f"name the capital of {country} . answer :", return_tensors="pt")["input_ids"]
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=2, do_sample=False)
        answer = tokenizer.decode(out[0, ids.size(1):], skip_special_tokens=True).strip()
        print(country, "->", answer)
        correct += answer == capital
    print(f"{correct}/{len(CAPITALS)} capitals right")


if __name__ == "__main__":
    main()
