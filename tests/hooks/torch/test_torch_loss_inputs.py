"""What losses are given: predictions and labels, and what follows from them of classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from stepwatch.capture.open_step import OpenStep
from stepwatch.hooks.torch import observe
from stepwatch.hooks.torch.collectors import loss as loss_inputs
from stepwatch.hooks.torch.collectors.loss import (
    LossInputs,
    binary_counts,
    class_counts,
    log_partition,
    relative_spread,
)
from tests.support.hooks.torch.captured_rows import assert_same, names_of, rows_of
from tests.support.hooks.torch.trainings import X, Y, fit, inputs, mlp, sgd

LABELS = torch.tensor([0, 1, 2, 2, 1, 0, 2, 2, 1, 1, 0, 2, 1, 1, 2, 2])
RAW = [f"{name}:raw" for name in ("predictions", "labels", "classes", "log_partition")]


def classifier():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def classify(loss, *, steps=1, targets=LABELS):
    """Train on classes and return the logits of each step."""
    model = classifier()
    optimizer, logits = sgd(model), []
    for _ in range(steps):
        optimizer.zero_grad()
        output = model(X)
        logits.append(output.detach().clone())
        loss(output, targets).backward()
        optimizer.step()
    return logits


def value(seen, name, step=0):
    return seen.trial.tensor(name).value(step)


def counted(meant, guessed, num_classes):
    """Return how often which class was taken for which, counted one by one."""
    counts = np.zeros((num_classes, num_classes), np.int64)
    for one, other in zip(meant.ravel().tolist(), guessed.ravel().tolist(), strict=True):
        counts[one, other] += 1
    return counts


class TestPredictions:
    @pytest.mark.parametrize(
        ("loss", "name"), [(F.cross_entropy, "cross_entropy"), (nn.NLLLoss(), "NLLLoss")]
    )
    def test_they_are_the_first_argument_and_labels_the_target(self, watched, loss, name):
        """At every step, of functions and of modules, under the name of the loss."""
        with watched() as seen:
            logits = classify(loss, steps=3)

        assert [f"label/{name}", f"prediction/{name}"] == names_of(seen, "predictions", "labels")
        for step, rows in enumerate(rows_of(seen)):
            assert_same({f"prediction/{name}": logits[step], f"label/{name}": LABELS}, rows)

    def test_each_loss_has_its_own(self, watched):
        """Numbered as the losses are."""

        def loss(x, y):
            one = F.mse_loss(x, y)
            return one + F.mse_loss(x, 2 * y)

        with watched() as seen:
            fit(mlp(), loss=loss)

        assert_same({"label/mse_loss": Y, "label/mse_loss_1": 2 * Y}, rows_of(seen)[-1])

    def test_arguments_may_be_given_by_keyword(self, watched):
        """In any order, to functions and to modules."""
        for loss, name in ((F.cross_entropy, "cross_entropy"), (nn.CrossEntropyLoss(),) * 2):
            name = name if isinstance(name, str) else "CrossEntropyLoss"
            with watched(policy=RAW) as seen:
                (logits,) = classify(lambda x, y, loss=loss: loss(target=y, input=x))

            np.testing.assert_array_equal(logits.numpy(), value(seen, f"prediction/{name}"))
            np.testing.assert_array_equal(LABELS.numpy(), value(seen, f"label/{name}"))

    def test_a_target_is_where_the_loss_has_it(self, watched):
        """Third for a ranking; a triplet has none."""
        sign = torch.ones(16, 1)
        with watched(policy=RAW) as seen:
            fit(mlp(), loss=lambda x, y: F.margin_ranking_loss(x, y, sign), steps=1)
            fit(mlp(), loss=nn.TripletMarginLoss(), steps=0)
            nn.TripletMarginLoss()(X, X + 1, X - 1)

        assert ["label/margin_ranking_loss"] == seen.trial.tensor_names(collection="labels")
        np.testing.assert_array_equal(sign.numpy(), value(seen, "label/margin_ranking_loss"))
        assert "prediction/TripletMarginLoss" in seen.trial.tensor_names()

    @pytest.mark.parametrize("view", [lambda x: x, lambda x: x.view(4, 4, 3).view(-1, 3)])
    def test_an_output_is_not_read_a_second_time(self, watched, monkeypatch, view):
        """What the model returned is what the loss is given, or a view of all of it."""
        read = []

        def note(name):
            original = getattr(OpenStep, name)

            def noting(step, info, *value):
                read.append(info.name)
                return original(step, info, *value)

            monkeypatch.setattr(OpenStep, name, noting)

        note("add")
        note("add_read_one")
        with watched() as seen:
            classify(lambda x, y: F.cross_entropy(view(x), y), steps=2)

        assert "output/2" in read
        assert "prediction/cross_entropy" not in read
        for rows in rows_of(seen):
            np.testing.assert_array_equal(rows["output/2"], rows["prediction/cross_entropy"])

    @pytest.mark.parametrize(
        "changed",
        [lambda x: x + 1, lambda x: x.mul_(2), lambda x: x[4:], lambda x: x.T.reshape(16, 3)],
    )
    def test_what_is_no_longer_the_output_is_read(self, watched, changed):
        """Also the same memory, changed in place since."""
        given = []

        def loss(x, y):
            given.append(changed(x))
            return F.cross_entropy(given[-1], y[: len(given[-1])])

        with watched() as seen:
            classify(loss)

        (rows,) = rows_of(seen)
        assert_same({"prediction/cross_entropy": given[0]}, rows)

    def test_a_view_of_an_output_has_its_own_shape_raw(self, watched):
        """Though its values are those that were copied already."""
        with watched(policy=["outputs:raw", "predictions:raw"]) as seen:
            fit(mlp(), loss=lambda x, y: F.mse_loss(x.view(-1), y.view(-1)), steps=1)

        expected = value(seen, "output/2")
        assert (16, 1) == expected.shape
        np.testing.assert_array_equal(
            expected.reshape(16), value(seen, "prediction/mse_loss"), strict=True
        )

    def test_what_is_not_wanted_is_not_looked_at(self, watched, monkeypatch):
        """Neither are the arguments, nor is anything computed of them."""
        monkeypatch.setattr(loss_inputs, "log_partition", None)
        monkeypatch.setattr("stepwatch.hooks.torch.collectors.loss.class_counts", None)
        without = [f"{name}:none" for name in ("predictions", "labels", "classes", "log_partition")]
        with watched(policy=without) as seen:
            classify(F.cross_entropy, steps=2)

        assert 2 == len(seen.series("loss/cross_entropy"))
        assert [] == seen.trial.tensor_names("^(prediction|label|confusion|log_partition)/")

    @pytest.mark.slow
    def test_losses_inside_of_a_compiled_function_have_none(self, watched):
        """The loss itself is there, and nothing is broken."""
        loss = torch.compile(
            lambda x, y: F.cross_entropy(x, y), backend="aot_eager", fullgraph=True
        )
        with watched() as seen:
            classify(loss, steps=2)

        assert ["loss/cross_entropy"] == seen.losses
        assert [] == seen.trial.tensor_names(collection="predictions")


class TestLogPartition:
    def test_it_is_the_mean_over_rows_of_the_log_of_the_sum(self, watched):
        """Every tenth step by default; a shift of all logits is its own."""
        with watched() as seen:
            logits = classify(lambda x, y: F.cross_entropy(x + 30, y), steps=11)

        expected = [(torch.logsumexp(logits[step], 1).mean() + 30).item() for step in (0, 10)]
        np.testing.assert_allclose(expected, seen.series("log_partition/cross_entropy"), rtol=1e-6)

    @pytest.mark.parametrize("shape", [(3,), (7, 3), (2, 3, 5), (4, 3, 2, 2)])
    def test_classes_are_the_second_dimension(self, shape):
        """The only one of a single row."""
        logits = inputs(*shape)

        expected = torch.logsumexp(logits, 0 if len(shape) == 1 else 1).mean()
        torch.testing.assert_close(expected, log_partition(logits))

    def test_of_many_rows_some_are_read(self, monkeypatch):
        """Evenly spaced ones, in whatever dimensions they lie."""
        monkeypatch.setattr(loss_inputs, "MOST_ROWS", 8)
        logits = inputs(6, 5, 4)

        expected = torch.logsumexp(logits.movedim(1, -1).reshape(24, 5)[::3], 1).mean()
        torch.testing.assert_close(expected, log_partition(logits))

    def test_low_precision_is_widened(self):
        """Sums of exponentials would leave the range of float16."""
        logits = torch.full((4, 50), 11.0, dtype=torch.float16)

        expected = torch.tensor(11 + np.log(50), dtype=torch.float32)
        torch.testing.assert_close(expected, log_partition(logits))

    def test_other_losses_have_none(self, watched):
        """What they are given are no logits."""
        with watched() as seen:
            fit(mlp())

        assert [] == seen.trial.tensor_names(collection="log_partition")


class TestClasses:
    def test_they_are_counted_every_tenth_step(self, watched):
        """Rows are what was meant, columns what was guessed."""
        with watched() as seen:
            logits = classify(F.cross_entropy, steps=11)

        assert [0, 10] == sorted(seen.trial.tensor("confusion/cross_entropy").values())
        for step in (0, 10):
            expected = counted(LABELS, logits[step].argmax(1), 3)
            np.testing.assert_array_equal(
                expected, value(seen, "confusion/cross_entropy", step), strict=True
            )
            np.testing.assert_array_equal([3, 6, 7], value(seen, "class_count/cross_entropy", step))

    def test_what_is_ignored_is_left_out(self, watched):
        """By the index that the loss was told, and what is no class at all."""
        targets = torch.where(LABELS == 0, -100, LABELS)
        expected = [0, 6, 7]
        for loss, name in (
            (F.cross_entropy, "cross_entropy"),
            (nn.CrossEntropyLoss(), "CrossEntropyLoss"),
        ):
            with watched() as seen:
                classify(loss, targets=targets)
            np.testing.assert_array_equal(expected, value(seen, f"class_count/{name}"))
        for loss, name in (
            (lambda x, y: F.cross_entropy(x, y, ignore_index=0), "cross_entropy"),
            (nn.NLLLoss(ignore_index=0), "NLLLoss"),
        ):
            with watched() as seen:
                classify(loss)
            np.testing.assert_array_equal(expected, value(seen, f"class_count/{name}"))

    def test_micro_batches_add_up(self, watched):
        """They are one step."""
        model = classifier()
        optimizer = sgd(model)
        with watched() as seen:
            for part in (slice(4), slice(4, 16)):
                F.cross_entropy(model(X[part]), LABELS[part]).backward()
            optimizer.step()

        expected = counted(LABELS, classifier()(X).argmax(1), 3)
        np.testing.assert_array_equal(expected, value(seen, "confusion/cross_entropy"))
        assert [9] == seen.series("confusion/cross_entropy", "count")

    @pytest.mark.parametrize(
        ("loss", "name", "probability"),
        [
            (F.binary_cross_entropy, "binary_cross_entropy", lambda x: x),
            (
                nn.BCEWithLogitsLoss(),
                "BCEWithLogitsLoss",
                lambda x: torch.logit(x.clamp(0.01, 0.99)),
            ),
        ],
    )
    def test_binary_losses_have_two(self, watched, loss, name, probability):
        """Parted at a probability of one half."""
        shares = torch.rand(16, 1, generator=torch.Generator().manual_seed(3))
        targets = (LABELS > 1).float()[:, None]
        with watched() as seen:
            fit(mlp(), loss=lambda x, _: loss(probability(shares) + 0 * x, targets), steps=1)

        expected = counted(targets.long(), (shares > 0.5).long(), 2)
        np.testing.assert_array_equal(expected, value(seen, f"confusion/{name}"))

    def test_probabilities_as_targets_are_no_classes(self, watched):
        """Nor are the numbers of a regression."""
        with watched() as seen:
            classify(lambda x, y: F.cross_entropy(x, F.one_hot(y, 3).float()))
            fit(mlp(), steps=1)

        assert [] == seen.trial.tensor_names(collection="classes")

    def test_of_many_classes_the_confusion_is_left_out(self):
        """And of very many everything: they are the words of a language."""
        for num_classes, shape in ((100, (100, 100)), (101, (101,)), (1000, (1000,))):
            target = torch.arange(num_classes)
            counts = class_counts(torch.eye(num_classes), target)
            assert shape == counts.shape
            assert num_classes == counts.sum()
        assert class_counts(torch.zeros(2, 1001), torch.zeros(2, dtype=torch.int64)) is None

    @pytest.mark.parametrize("shape", [(3,), (7, 3), (2, 3, 5), (4, 3, 2, 2)])
    def test_the_classes_of_a_prediction_are_its_second_dimension(self, shape):
        """Each place of an image or of a text has a class."""
        prediction = inputs(*shape)
        axis = 0 if len(shape) == 1 else 1
        target = inputs(*shape, seed=2).argmax(axis)

        expected = counted(target, prediction.argmax(axis), 3)
        np.testing.assert_array_equal(expected, class_counts(prediction, target).numpy())

    def test_soft_binary_targets_are_left_out(self):
        """Only 0 and 1 are classes."""
        target, prediction = torch.tensor([0.0, 0.3, 1.0, 1.0]), torch.tensor([0.9, 0.9, 0.9, 0.1])

        expected = [[0, 1], [1, 1]]
        assert expected == binary_counts(prediction, target, 0.5).tolist()

    def test_shapes_that_do_not_fit_are_let_be(self):
        """The loss itself says what is wrong."""
        assert class_counts(torch.zeros(4, 3), torch.zeros(5, dtype=torch.int64)) is None
        assert binary_counts(torch.zeros(4, 1), torch.zeros(4), 0.5) is None


class TestElsewhere:
    def test_on_an_accelerator_nothing_is_waited_for(self, watched, monkeypatch):
        """What was counted there comes to the host at the end of the step, and is the same."""
        policy = [*RAW, "outputs:none"]
        with watched(policy=policy) as here:
            classify(F.cross_entropy, steps=2)
        monkeypatch.setattr(observe, "on_host", lambda _: False)
        with watched(policy=policy) as there:
            classify(F.cross_entropy, steps=2)

        for name in ("confusion/cross_entropy", "class_count/cross_entropy"):
            for step in (0, 1):
                np.testing.assert_array_equal(value(here, name, step), value(there, name, step))
        for name in ("log_partition/cross_entropy", "prediction/cross_entropy"):
            assert here.series(name) == there.series(name)

    def test_a_script_does_not_notice(self, watched):
        """Under autocast, and where every operation is counted."""

        class Counting(torch.utils._python_dispatch.TorchDispatchMode):
            num_operations = 0

            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                self.num_operations += 1
                return function(*args, **(kwargs or {}))

        def train():
            with Counting() as counting, torch.autocast("cpu", torch.bfloat16):
                logits = classify(F.cross_entropy, steps=2)
            return counting.num_operations, [each.tolist() for each in logits]

        without = train()
        with watched(policy="classes:none"):
            unobserved = train()
        with watched(policy="classes:raw"):
            observed = train()

        assert without[1] == unobserved[1]
        assert unobserved == observed

    def test_a_failure_of_ours_ends_only_capturing(self, watched, monkeypatch):
        """Training goes on."""
        expected = classify(F.cross_entropy, steps=3)
        monkeypatch.setattr(LossInputs, "observe", lambda *_: 1 / 0)
        with watched(strict=False) as seen:
            found = classify(F.cross_entropy, steps=3)

        assert "ZeroDivisionError" in seen.end.error
        torch.testing.assert_close(expected, found, rtol=0, atol=0)


class TestRelativeSpread:
    def test_it_is_the_ratio_of_standard_deviations_over_samples(self):
        torch.manual_seed(0)
        target = torch.randn(32, 3, 4)
        mean = target.mean(0, keepdim=True)

        assert pytest.approx(1) == relative_spread(target + 5, target)
        assert pytest.approx(0.25) == relative_spread(mean + 0.25 * (target - mean), target)
        assert pytest.approx(0, abs=1e-6) == relative_spread(mean.expand_as(target), target)

    def test_logits_are_compared_as_probabilities(self):
        target = torch.rand(32, 9)

        assert pytest.approx(1) == relative_spread(target.logit(), target, are_logits=True)

    def test_of_large_samples_some_elements_are_read(self):
        target = torch.randn(100, 100_000)

        assert pytest.approx(1) == relative_spread(target, target)

    @pytest.mark.parametrize(
        ("prediction", "target"),
        [
            (torch.randn(32, 4), torch.randn(32, 4)),  # few numbers: their mean may be all there is
            (torch.randn(4, 32), torch.randn(4, 32)),
            (torch.randn(32, 9), torch.randn(32)),
            (torch.randn(32, 9), torch.ones(32, 9)),
            (torch.randn(32, 9), torch.ones(32, 9, dtype=torch.int64)),
            (torch.tensor(1.0), torch.tensor(1.0)),
        ],
    )
    def test_it_is_known_of_several_samples_of_several_elements_only(self, prediction, target):
        assert relative_spread(prediction, target) is None
