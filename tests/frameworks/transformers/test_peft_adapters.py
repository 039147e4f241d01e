"""Adapters of peft that are trained, or stay what they were."""

from __future__ import annotations

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import BertConfig, BertForSequenceClassification

from stepwatch import LiveWatch, TorchHook
from stepwatch.rules import DEFAULT_RULES
from tests.support.frameworks.transformers.transformers_trainings import tiny_model

pytestmark = pytest.mark.framework


def adapted(**options):
    """Return a small model with adapters of its attention."""
    options = {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], **options}
    return get_peft_model(tiny_model(), LoraConfig(**options))


def checkpointed(*, enabled):
    """Return one with a head that trains, checkpoints, and inputs that want gradients, or not."""
    model = adapted(modules_to_save=["lm_head"])
    inside = model.base_model.model
    inside.gradient_checkpointing_enable({"use_reentrant": True})
    if enabled:
        inside.enable_input_require_grads()
    else:  # newer releases do so by themselves
        inside.disable_input_require_grads()
    return model


def with_frozen_half():
    model = adapted()
    for name, one in model.named_parameters():
        if "lora_B" in name:
            one.requires_grad_(False)
    return model


def classifier(*, trained_before=False, **options):
    """Return an encoder with a new head for two classes, and adapters of its attention."""
    torch.manual_seed(0)
    small = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}
    model = BertForSequenceClassification(BertConfig(**small, num_attention_heads=2))
    if trained_before:
        torch.nn.init.normal_(model.classifier.bias)
    targets = {"r": 4, "lora_alpha": 8, "target_modules": ["query", "value"], **options}
    return get_peft_model(model, LoraConfig(**targets))


def found(run, model, steps=24, rules=("untrained_parameter",)):
    """Train on sentences that count upwards; return the conditions that are found.

    But for one that is true of all of these: the frozen base was never trained.
    """
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=5e-3)
    live = LiveWatch(list(rules))
    generator = torch.Generator().manual_seed(1)
    with TorchHook(run=run, listeners=[live], say=lambda _: None, strict=True):
        for _ in range(steps):
            ids = (torch.arange(8) + torch.randint(32, (4, 1), generator=generator)) % 32
            optimizer.zero_grad()
            classifies = hasattr(model.base_model.model, "classifier")
            labels = ids[:, 0] % 2 if classifies else ids
            model(input_ids=ids, labels=labels).loss.backward()
            optimizer.step()
    return [one.condition for one in live.findings if one.condition != "frozen_as_drawn"]


@pytest.mark.parametrize("options", [{}, {"use_dora": True}, {"modules_to_save": ["lm_head"]}])
def test_adapters_that_train_are_no_fault(options, tmp_path):
    """Though half of each has no gradient at the first step, for the other half is zero."""
    assert [] == found(tmp_path / "run", adapted(**options), rules=DEFAULT_RULES)


def test_adapters_of_embeddings_begin_with_the_other_half(tmp_path):
    model = adapted(target_modules=["embed_tokens", "q_proj"])

    assert [] == found(tmp_path / "run", model, rules=DEFAULT_RULES)


@pytest.mark.parametrize("options", [{"lora_alpha": 0}, {"lora_dropout": 1.0}])
def test_adapters_that_add_nothing(options, tmp_path):
    assert ["adapter_zero"] == found(tmp_path / "run", adapted(**options))


def test_adapters_of_which_half_is_frozen(tmp_path):
    assert ["adapter_frozen"] == found(tmp_path / "run", with_frozen_half())


class TestLoadedAdapters:
    """A classifier whose adapters were trained before, as ``from_pretrained`` loads them."""

    def loaded(self, folder, **options):
        classifier(task_type="SEQ_CLS").save_pretrained(folder)
        base = classifier(task_type="SEQ_CLS").unload()
        model = PeftModel.from_pretrained(base, folder, **options)
        for name, parameter in model.named_parameters():
            if "modules_to_save" in name:
                parameter.requires_grad_(True)
        return model

    def test_that_stay_frozen_beside_a_head_that_trains_are_named(self, tmp_path):
        model = self.loaded(tmp_path / "adapter")

        assert ["adapters_frozen"] == found(tmp_path / "run", model)

    def test_that_train_are_no_fault(self, tmp_path):
        model = self.loaded(tmp_path / "adapter", is_trainable=True)

        assert [] == found(tmp_path / "run", model)

    def test_that_stay_frozen_beside_adapters_that_train_are_no_fault(self, tmp_path):
        model = adapted()
        model.add_adapter("other", LoraConfig(r=4, target_modules=["v_proj"]))
        model.base_model.set_adapter(["default", "other"])
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("other" in name)

        assert [] == found(tmp_path / "run", model)


class TestHeads:
    def test_a_new_one_that_is_frozen_is_named(self, tmp_path):
        """As where the task is not said, so that nobody knows of the head."""
        assert ["adapter_head"] == found(tmp_path / "run", classifier())

    @pytest.mark.parametrize(
        "options",
        [
            {"task_type": "SEQ_CLS"},
            {"modules_to_save": ["classifier"]},
            {"target_modules": ["query", "classifier"]},
            {"trained_before": True},
        ],
    )
    def test_one_that_trains_or_has_is_no_fault(self, options, tmp_path):
        assert [] == found(tmp_path / "run", classifier(**options))


def test_adapters_behind_checkpoints_that_cut_them_off(tmp_path):
    """Reentrant checkpoints differentiate nothing where no input wants a gradient."""
    assert ["no_gradient"] == found(tmp_path / "cut", checkpointed(enabled=False))
    assert [] == found(tmp_path / "whole", checkpointed(enabled=True))
