"""What the hook for Transformers adds to that of torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Trainer

from stepwatch.hooks.transformers import TransformersHook
from stepwatch.model.steps import Mode
from stepwatch.rules import watch
from stepwatch.trial import Trial
from tests.support.frameworks.transformers.transformers_trainings import (
    arguments,
    samples,
    tiny_model,
)

pytestmark = pytest.mark.framework


@pytest.fixture
def hook(tmp_path):
    """A hook that raises its own failures."""
    with TransformersHook(tmp_path / "run", say=lambda _: None, strict=True) as made:
        yield made


def trainer_of(hook, folder, model=None, **options):
    """Return a trainer, with 16 samples to train on and 8 to be judged by."""
    return Trainer(
        model or tiny_model(),
        arguments(folder, **options),
        train_dataset=samples(16),
        eval_dataset=samples(8),
        callbacks=[hook],
    )


def seen_in(hook):
    """Return what was recorded, once the hook is closed."""
    hook.close()
    return Trial(hook.recorder.store.url)


class TestMetrics:
    def test_what_is_logged_belongs_to_its_step(self, hook, tmp_path):
        """The loss and the learning rate with their step, those of an evaluation with its last."""
        options = {"logging_strategy": "steps", "logging_steps": 1, "eval_strategy": "epoch"}
        trainer_of(hook, tmp_path, num_train_epochs=1, **options).train()

        trial = seen_in(hook)
        losses = trial.tensor("loss/Trainer").statistics(mode=Mode.TRAIN)["mean"]
        logged = trial.tensor("metric/loss").statistics(mode=Mode.TRAIN)["mean"]
        np.testing.assert_allclose(losses, logged, rtol=1e-3)  # it is rounded to be shown
        np.testing.assert_array_equal(
            [0.25, 0.5, 0.75, 1.0], trial.tensor("metric/epoch").statistics()["mean"]
        )
        assert 1 == len(trial.tensor("metric/eval_loss").steps(Mode.EVAL))
        assert [] == trial.tensor("metric/eval_loss").steps(Mode.TRAIN)

    def test_accumulated_batches_are_one_step_with_their_loss(self, hook, tmp_path):
        """It is the one that their gradients are of."""
        trainer = trainer_of(hook, tmp_path, num_train_epochs=1, gradient_accumulation_steps=2)
        trainer.train()

        trial = seen_in(hook)
        assert [0, 1] == trial.steps(Mode.TRAIN)
        # All batches have as many tokens, so the loss of two is the mean of theirs.
        losses = trial.tensor("loss/Trainer").statistics(mode=Mode.TRAIN)["mean"]
        assert 3 < losses[0] < 4


class TestTraining:
    def test_evaluations_are_steps_of_their_own(self, hook, tmp_path):
        """Two batches of four, at the end of the epoch."""
        options = {"eval_strategy": "epoch", "per_device_eval_batch_size": 4}
        trainer_of(hook, tmp_path, num_train_epochs=1, **options).train()

        trial = seen_in(hook)
        assert (4, 2) == (len(trial.steps(Mode.TRAIN)), len(trial.steps(Mode.EVAL)))

    def test_a_training_is_stopped_without_an_exception(self, hook, tmp_path):
        """What comes after ``train`` in a script is still run."""
        model = tiny_model(lambda step: hook.stop("enough") if step == 1 else None)
        trainer = trainer_of(hook, tmp_path, model, num_train_epochs=9)
        trainer.train()

        assert 2 == trainer.state.global_step
        assert "stopped" == hook.close().state

    def test_what_somebody_else_wraps_meanwhile_stays(self, hook, tmp_path):
        """And calls what it wrapped as if the hook had never been there."""
        names, ours = ("__init__", "training_step"), (Trainer.__init__, Trainer.training_step)
        called = []

        def wrapped(name, original):
            def theirs(*args, **kwargs):
                called.append(name)
                return original(*args, **kwargs)

            return theirs

        theirs = [wrapped(name, one) for name, one in zip(names, ours, strict=True)]
        try:
            Trainer.__init__, Trainer.training_step = theirs
            hook.close()
            assert theirs == [Trainer.__init__, Trainer.training_step]
            options = arguments(tmp_path, max_steps=1)
            trainer = Trainer(tiny_model(), options, train_dataset=samples(8))
            trainer.train()
        finally:
            Trainer.__init__, Trainer.training_step = (one.__wrapped__ for one in ours)

        assert list(names) == called
        assert hook not in trainer.callback_handler.callbacks

    def test_a_trainer_that_takes_no_callback_is_made_as_ever(self, tmp_path, caplog):
        """It is said once, and nothing is captured from there on."""

        class Unusual(Trainer):
            def add_callback(self, callback):
                if isinstance(callback, TransformersHook):
                    raise RuntimeError("no more callbacks")
                super().add_callback(callback)

        with TransformersHook(tmp_path / "run", say=lambda _: None) as hook:
            trainers = [Unusual(tiny_model(), arguments(tmp_path)) for _ in range(2)]

        assert [True, True] == [trainer.args is not None for trainer in trainers]
        assert "RuntimeError: no more callbacks" == hook.failure
        assert 1 == len([one for one in caplog.records if one.name == "stepwatch"])

    def test_a_trainer_has_the_hook_once(self, hook, tmp_path):
        """Whether it was given or not."""
        given = trainer_of(hook, tmp_path)
        not_given = Trainer(tiny_model(), arguments(tmp_path))

        callbacks = [one.callback_handler.callbacks for one in (given, not_given)]
        assert [1, 1] == [some.count(hook) for some in callbacks]


def tokenizer_of(length):
    """Return a tokenizer of words such as <7> that keeps so many of each text."""
    model = models.WordLevel({f"<{one}>": one for one in range(32)}, unk_token="<0>")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<31>", pad_token="<0>")
    made(["<1>"], truncation=True, max_length=length)
    return made


@pytest.mark.parametrize(
    ("length", "prompt", "is_found"), [(6, 4, True), (6, 0, False), (8, 4, False), (9, 4, False)]
)
def test_answers_that_are_cut_off_before_their_end(hook, tmp_path, length, prompt, is_found):
    """Each text is of seven tokens, and one that ends it; texts are no answers without a prompt."""
    tokenizer = tokenizer_of(length)
    rows = torch.randint(1, 31, (64, 7)).tolist()
    texts = [" ".join(f"<{one}>" for one in (*row, 31)) for row in rows]
    tokens = tokenizer(texts, truncation=True, max_length=length)["input_ids"]
    data = [
        {"input_ids": torch.tensor(row), "labels": torch.tensor([-100] * prompt + row[prompt:])}
        for row in tokens
    ]
    Trainer(
        tiny_model(),
        arguments(tmp_path, max_steps=12),
        train_dataset=data,
        callbacks=[hook],
        processing_class=tokenizer,
    ).train()

    found = watch(seen_in(hook), ["setup"])
    assert ["cut_off"] * is_found == [one.condition for one in found]
