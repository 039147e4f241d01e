"""Models of transformers that are made of files, and trainers that go on from checkpoints."""

from __future__ import annotations

import shutil

import peft
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from stepwatch import TorchHook, Trial
from stepwatch.formats.saved_weights import all_saved
from stepwatch.rules import Finding
from tests.support.rules.rule_runs import judge

pytestmark = pytest.mark.framework


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """Return a folder with a small masked language model."""
    config = transformers.BertConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        vocab_size=50,
    )
    folder = tmp_path_factory.mktemp("pretrained")
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    return folder


def train(model, labels):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        loss = model(input_ids=torch.randint(0, 50, (4, 8)), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_weights_under_other_names_are_found(pretrained, tmp_path):
    """Transformers begins with new ones, and says so in a table."""
    shutil.copytree(pretrained, tmp_path / "renamed")
    file = tmp_path / "renamed" / "model.safetensors"
    tensors = {name.replace("bert.", "text."): one for name, one in load_file(file).items()}
    save_file(tensors, file, {"format": "pt"})

    def program():
        model = transformers.BertForMaskedLM.from_pretrained(tmp_path / "renamed")
        train(model, torch.randint(0, 50, (4, 8)))

    (found,), _ = judge(program, "resume", tmp_path / "run")
    assert "names BertForMaskedLM" == Finding.from_json(found).condition


def test_a_new_head_is_not_accused(pretrained, tmp_path):
    """Nor is what is loaded as a whole; and who asks how it was loaded is told."""

    def program():
        kind = transformers.BertForSequenceClassification
        model, info = kind.from_pretrained(pretrained, output_loading_info=True)
        assert "classifier.weight" in info["missing_keys"]
        train(model, torch.randint(0, 2, (4,)))

    found, statuses = judge(program, "resume", tmp_path / "run")
    assert ([], ["NoIssuesFound"]) == (found, [one.status for one in statuses])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["new_frozen BertForSequenceClassification"]),
        ({"task_type": "SEQ_CLS"}, []),
        ({"modules_to_save": ["classifier"]}, []),
    ],
)
def test_a_new_head_that_an_adapter_leaves_frozen_is_named(pretrained, options, expected, tmp_path):
    """The pooler is new as well, and frozen; it need not be used."""
    config = peft.LoraConfig(r=2, target_modules=["query"], **options)

    def program():
        kind = transformers.BertForSequenceClassification
        model = peft.get_peft_model(kind.from_pretrained(pretrained), config)
        train(model, torch.randint(0, 2, (4,)))

    found, _ = judge(program, "resume", tmp_path / "run")

    assert expected == [Finding.from_json(one).condition for one in found]


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        ids = torch.randint(0, 50, (8,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


def test_a_trainer_goes_on_as_it_should(tmp_path):
    """Its run knows what it saved."""

    def program(steps, resumes=None):
        config = transformers.GPT2Config(
            n_embd=16, n_layer=1, n_head=2, vocab_size=50, n_positions=16
        )
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"),
            max_steps=steps,
            save_steps=4,
            per_device_train_batch_size=4,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        model = transformers.GPT2LMHeadModel(config)
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=Rows())
        trainer.train(resume_from_checkpoint=resumes)

    with TorchHook(run=tmp_path / "first", command=["t.py"], say=lambda line: None, strict=True):
        program(4)
    found, _ = judge(
        lambda: program(8, str(tmp_path / "out" / "checkpoint-4")), "resume", tmp_path / "second"
    )

    assert [] == found
    assert [4] == [one.num_steps for one in all_saved(Trial(tmp_path / "first").store)]
