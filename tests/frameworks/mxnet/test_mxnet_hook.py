"""What the hook for MXNet sees of Gluon: under which name, in which step, with which value."""

from __future__ import annotations

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon, nd
from mxnet.base import MXNetError
from mxnet.gluon import nn
from mxnet.gluon.data.vision import transforms

from stepwatch.model.steps import Mode
from stepwatch.trial import Trial
from stepwatch_smdebug.mxnet import MXNetHook

pytestmark = pytest.mark.framework
ALL_RAW = ["weights:raw", "gradients:raw", "outputs:raw", "losses:raw"]


@pytest.fixture
def hook(tmp_path):
    mx.random.seed(0)
    with MXNetHook(tmp_path / "run", policy=ALL_RAW, say=lambda _: None, strict=True) as hook:
        yield hook


@pytest.fixture
def opened(hook, tmp_path):
    """Return a function that closes the run and opens it."""

    def open_run():
        hook.close()
        return Trial(tmp_path / "run")

    return open_run


class TestPatches:
    def test_what_somebody_else_wraps_meanwhile_stays(self, hook, opened):
        """And is seen once by a hook that takes hold again."""
        net, x = dense(in_units=2), nd.ones((4, 2))
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        ours, updated = gluon.Trainer._update, []

        def theirs(trainer, *given, **named):
            updated.append(trainer)
            return ours(trainer, *given, **named)

        gluon.Trainer._update = theirs
        try:
            hook.detach()
            one_step(net, trainer, x, x[:, :1])
            hook.attach()
            one_step(net, trainer, x, x[:, :1])
            trial = opened()
            assert gluon.Trainer._update is theirs
        finally:
            gluon.Trainer._update = ours.__wrapped__

        assert [trainer, trainer] == updated
        assert [0] == trial.steps(Mode.TRAIN)


def dense(units=1, **named):
    net = nn.Dense(units, **named)
    net.initialize()
    return net


def one_step(net, trainer, x, y, loss=None):
    loss = loss or gluon.loss.L2Loss()
    with autograd.record():
        value = loss(net(x), y)
    value.backward()
    trainer.step(len(x))
    return value


class TestWhatIsSeen:
    def test_gradients_are_as_the_update_multiplies_them(self, hook, opened):
        """``Trainer.step(n)`` divides by ``n``: plain descent moves by rate times gradient."""
        net = dense()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        for _ in range(2):
            one_step(net, trainer, nd.random.normal(shape=(8, 3)), nd.ones((8, 1)))

        trial = opened()
        before, after = (trial.tensor("weight").value(step, mode=Mode.TRAIN) for step in (0, 1))
        used = trial.tensor("gradient/weight").value(0, mode=Mode.TRAIN)
        np.testing.assert_allclose(before - 0.5 * used, after, rtol=1e-5)

    def test_gradients_of_several_devices_are_added_up(self, hook, opened):
        """Whether the key-value store updates itself, or only adds them up."""
        for on_store in (True, False):
            net = nn.Dense(1, in_units=3, prefix=f"store_{on_store}_")
            net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
            trainer = gluon.Trainer(
                net.collect_params(), "sgd", {"learning_rate": 0.5}, update_on_kvstore=on_store
            )
            for _ in range(2):
                x = nd.random.normal(shape=(8, 3))
                parts = gluon.utils.split_and_load(x, [mx.cpu(0), mx.cpu(1)])
                with autograd.record():
                    losses = [gluon.loss.L2Loss()(net(part), part[:, :1]) for part in parts]
                autograd.backward(losses)
                trainer.step(8)

        trial = opened()
        for step, name in ((0, "weight"), (2, "store_False.weight")):
            value = trial.tensor(name).value
            used = trial.tensor(f"gradient/{name}").value(step, mode=Mode.TRAIN)
            moved = value(step, mode=Mode.TRAIN) - value(step + 1, mode=Mode.TRAIN)
            np.testing.assert_allclose(0.5 * used, moved, rtol=1e-4)

    def test_names_are_those_of_saved_parameters(self, hook, opened):
        """Paths; a second model's begin with its name in Gluon."""
        first, second = nn.Sequential(prefix="first_"), nn.Sequential(prefix="second_")
        for net in (first, second):
            net.add(nn.Dense(2), nn.Dense(1))
            net.initialize()
            trainer = gluon.Trainer(net.collect_params(), "sgd")
            one_step(net, trainer, nd.ones((4, 3)), nd.ones((4, 1)))

        weights = opened().tensor_names(collection="weights")
        expected = list(first._collect_params_with_prefix())
        assert {*expected, *(f"second.{name}" for name in expected)} == set(weights)

    def test_parts_of_a_hybridized_block_are_said_to_be_missing(self, hook, opened):
        """Its own output is seen, and the coverage line says what is not."""
        net = nn.HybridSequential()
        net.add(nn.Dense(2), nn.Dense(1))
        net.initialize()
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        one_step(net, trainer, nd.ones((4, 3)), nd.ones((4, 1)))

        assert ["output/HybridSequential"] == opened().tensor_names(collection="outputs")
        assert "1 of 3 outputs (inside a hybridized block: 0, 1)" in hook.coverage

    def test_what_is_given_to_a_loss_is_seen(self, hook, opened):
        """Predictions and labels, and the mean of the loss over the batch."""
        net = dense(3)
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        value = one_step(net, trainer, nd.ones((4, 2)), nd.array([0, 1, 2, 0]), loss)

        trial, name = opened(), "SoftmaxCrossEntropyLoss"
        assert [12] == list(trial.tensor(f"prediction/{name}").statistics()["count"])
        assert [0.75] == list(trial.tensor(f"label/{name}").statistics()["mean"])
        seen = trial.tensor(f"loss/{name}").value(0, mode=Mode.TRAIN)
        np.testing.assert_allclose(value.asnumpy().mean(), seen, rtol=1e-6)

    def test_a_loss_without_a_block_is_what_gradients_are_computed_of(self, hook, opened):
        """``loss/backward``, which is not there beside the loss of a block."""
        net = dense()
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        with autograd.record():
            value = (net(nd.ones((4, 2))) ** 2).mean()
        value.backward()
        trainer.step(1)
        one_step(net, trainer, nd.ones((4, 2)), nd.ones((4, 1)))

        trial = opened()
        assert [0] == trial.tensor("loss/backward").steps(Mode.TRAIN)
        assert [1] == trial.tensor("loss/L2Loss").steps(Mode.TRAIN)
        assert value.asscalar() == trial.tensor("loss/backward").value(0, mode=Mode.TRAIN)

    def test_learning_rates_are_those_of_the_schedule(self, hook, opened):
        """As the update of the step used it; asking does not move the schedule."""
        net = dense()
        schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
        options = {"learning_rate": 1.0, "lr_scheduler": schedule}
        trainer = gluon.Trainer(net.collect_params(), "sgd", options)
        for _ in range(6):
            one_step(net, trainer, nd.ones((4, 2)), nd.ones((4, 1)))

        seen = opened().tensor("learning_rate/0").statistics(mode=Mode.TRAIN)["mean"]
        assert [1.0, 1.0, 0.5, 0.5, 0.25, 0.25] == list(seen)

    def test_states_of_optimizers_are_seen(self, hook, opened):
        """Numbered in the order in which the optimizer keeps them: Adam's mean and variance."""
        net = dense(use_bias=False)
        trainer = gluon.Trainer(net.collect_params(), "adam")
        one_step(net, trainer, nd.ones((4, 2)), nd.ones((4, 1)))

        names = opened().tensor_names(collection="optimizer_states")
        assert ["optimizer_state/weight/0", "optimizer_state/weight/1"] == names

    def test_frozen_parameters_and_running_statistics_are_seen(self, hook, opened):
        """Without gradients; what batch normalization counts is no weight."""
        net = nn.Sequential()
        net.add(nn.Dense(2, in_units=2, use_bias=False), nn.BatchNorm(in_channels=2), nn.Dense(1))
        net.initialize()
        net[0].collect_params().setattr("grad_req", "null")
        trainer = gluon.Trainer(net[2].collect_params(), "sgd")
        one_step(net, trainer, nd.ones((4, 2)), nd.ones((4, 1)))

        trial = opened()
        assert {"1.running_mean", "1.running_var"} == set(trial.tensor_names(collection="buffers"))
        assert "0.weight" in trial.tensor_names(collection="weights")
        assert "gradient/0.weight" not in trial.tensor_names(collection="gradients")

    def test_what_was_not_reached_has_no_gradient(self, hook, opened):
        """Gluon keeps a buffer of zeros for it, which is no gradient."""
        used, unused = dense(prefix="used_"), dense(in_units=2, prefix="unused_")
        parameters = used.collect_params()
        parameters.update(unused.collect_params())
        trainer = gluon.Trainer(parameters, "sgd")
        with autograd.record():
            value = gluon.loss.L2Loss()(used(nd.ones((4, 2))), nd.ones((4, 1)))
        value.backward()
        trainer.step(4, ignore_stale_grad=True)

        trial = opened()
        assert ["gradient/bias", "gradient/weight"] == trial.tensor_names(collection="gradients")
        assert "unused_weight" in trial.tensor_names(collection="weights")

    def test_sparse_gradients_are_seen_whole(self, hook, opened):
        """An embedding of which a few rows were used: the others are zeros."""
        net = nn.Sequential()
        net.add(nn.Embedding(10, 2, sparse_grad=True), nn.Dense(1))
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        one_step(net, trainer, nd.array([[1, 3]]), nd.ones((1, 1)))

        gradient = opened().tensor("gradient/0.weight").value(0, mode=Mode.TRAIN)
        assert (10, 2) == gradient.shape
        assert {1, 3} == set(np.flatnonzero(np.abs(gradient).sum(1)))

    def test_half_precision_keeps_its_name(self, hook, opened):
        """Statistics of float16; its gradient is multiplied where it has room."""
        net = nn.PReLU()
        net.cast("float16")
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"multi_precision": True})
        x = nd.ones((4, 2), dtype="float16")
        one_step(net, trainer, x, -x)

        trial = opened()
        assert "float16" == trial.tensor("alpha").value(0, mode=Mode.TRAIN).dtype
        assert "float32" == trial.tensor("gradient/alpha").value(0, mode=Mode.TRAIN).dtype

    def test_inputs_of_what_is_not_finite_are_seen(self, hook, opened):
        """So that it can be told where it began."""
        net = dense()
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        for x in (nd.ones((2, 2)), nd.array([[1.0, np.inf], [1, 1]])):
            one_step(net, trainer, x, nd.ones((2, 1)))

        assert [1] == opened().tensor("input/Dense").steps(Mode.TRAIN)


class TestSteps:
    def test_what_is_not_recorded_is_evaluated(self, hook, opened):
        """Each forward of the model is an EVAL step, its loss included."""
        net, loss = dense(), gluon.loss.L2Loss()
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        for _ in range(2):
            one_step(net, trainer, nd.ones((4, 2)), nd.ones((4, 1)))
            for _ in range(3):
                loss(net(nd.ones((4, 2))), nd.ones((4, 1)))

        trial = opened()
        assert ([0, 1], list(range(6))) == (trial.steps(Mode.TRAIN), trial.steps(Mode.EVAL))
        assert list(range(6)) == trial.tensor("loss/L2Loss").steps(Mode.EVAL)

    def test_the_user_may_say_the_mode(self, hook, opened):
        """Until it is taken back."""
        net = dense()
        hook.set_mode("PREDICT")
        net(nd.ones((4, 2)))
        hook.set_mode(None)
        net(nd.ones((4, 2)))

        trial = opened()
        assert ([0], [0]) == (trial.steps(Mode.PREDICT), trial.steps(Mode.EVAL))

    def test_two_trainers_are_one_step(self, hook, opened):
        """As of a generator and its discriminator, both of which update once in a step."""
        generator, judge = dense(2, prefix="g_"), dense(prefix="d_")
        loss = gluon.loss.SigmoidBCELoss()
        of_g = gluon.Trainer(generator.collect_params(), "adam")
        of_d = gluon.Trainer(judge.collect_params(), "adam")
        for _ in range(3):
            noise = nd.random.normal(shape=(4, 2))
            with autograd.record():
                fake = generator(noise)
                of_real = loss(judge(nd.ones((4, 2))), nd.ones(4))
                of_fake = loss(judge(fake.detach()), nd.zeros(4))
                of_judge = of_real + of_fake
            of_judge.backward()
            of_d.step(4)
            with autograd.record():
                of_generator = loss(judge(generator(noise)), nd.ones(4))
            of_generator.backward()
            of_g.step(4)

        trial = opened()
        assert [0, 1, 2] == trial.steps(Mode.TRAIN)
        for name in ("learning_rate/0", "learning_rate/1", "loss/SigmoidBinaryCrossEntropyLoss_2"):
            assert [0, 1, 2] == trial.tensor(name).steps(Mode.TRAIN), name

    def test_a_trainer_that_steps_seldom_is_waited_for_once(self, hook, opened):
        """Then a step ends before the other trainer updates again, and holds one update."""
        often, seldom = dense(prefix="often_"), dense(prefix="seldom_")
        trainers = [gluon.Trainer(net.collect_params(), "sgd") for net in (often, seldom)]
        for step in range(4):
            x = nd.ones((2, 2)) * (step + 1)
            with autograd.record():
                value = gluon.loss.L2Loss()(often(x) + seldom(x), nd.ones((2, 1)))
            value.backward()
            trainers[0].step(2)
            if step in (0, 3):
                trainers[1].step(2)

        trial = opened()
        assert [0, 1, 2, 3] == trial.steps(Mode.TRAIN)
        assert [1.0, 2.0, 3.0, 4.0] == list(trial.tensor("batch").statistics()["mean"])

    def test_a_model_that_is_updated_by_hand_has_steps(self, hook, opened):
        """They end when it runs again; its weights and gradients are seen."""
        net = dense()
        for _ in range(3):
            with autograd.record():
                value = gluon.loss.L2Loss()(net(nd.ones((4, 2))), nd.ones((4, 1)))
            value.backward()
            for parameter in net.collect_params().values():
                parameter.set_data(parameter.data() - 0.1 * parameter.grad())

        trial = opened()
        assert [0, 1, 2] == trial.tensor("gradient/weight").steps(Mode.TRAIN)
        before, after = (trial.tensor("weight").value(step, mode=Mode.TRAIN) for step in (0, 1))
        used = trial.tensor("gradient/weight").value(0, mode=Mode.TRAIN)
        np.testing.assert_allclose(before - 0.1 * used, after, rtol=1e-5)

    def test_arrays_that_are_trained_without_a_model_have_steps(self, hook, opened):
        """Each time that gradients are computed, with what they are computed of."""
        weight = nd.ones((2,))
        weight.attach_grad()
        losses = []
        for _ in range(3):
            with autograd.record():
                loss = (weight**2).sum()
            loss.backward()
            weight -= 0.1 * weight.grad
            losses.append(loss.asscalar())

        seen = opened().tensor("loss/backward").statistics(mode=Mode.TRAIN)["mean"]
        np.testing.assert_allclose(losses, seen, rtol=1e-6)

    def test_what_was_trained_before_is_no_part_of_what_is_trained_now(self, hook, opened):
        """One model after the other, both kept: each step has one of them and ends at once."""
        kept = []
        for fold in range(2):
            net = dense(prefix=f"fold{fold}_")
            trainer = gluon.Trainer(net.collect_params(), "sgd")
            kept.append((net, trainer))
            for _ in range(3):
                one_step(net, trainer, nd.ones((4, 2)), nd.ones((4, 1)))

        trial = opened()
        assert list(range(6)) == trial.steps(Mode.TRAIN)
        assert [0, 1, 2] == trial.tensor("weight").steps(Mode.TRAIN)
        assert [3, 4, 5] == trial.tensor("fold1.weight").steps(Mode.TRAIN)

    def test_a_pause_inside_of_a_model_is_part_of_its_step(self, hook, opened):
        """What is not recorded there is no evaluation."""

        class Paused(nn.Block):
            def __init__(self):
                super().__init__()
                self.seen, self.target = nn.Dense(2), nn.Dense(2)

            def forward(self, x):
                with autograd.pause():
                    target = self.target(x)
                return self.seen(x) - target

        net = Paused()
        net.initialize()
        trainer = gluon.Trainer(net.seen.collect_params(), "sgd")
        one_step(net, trainer, nd.ones((4, 2)), nd.ones((4, 2)))

        trial = opened()
        assert ([0], []) == (trial.steps(Mode.TRAIN), trial.steps(Mode.EVAL))
        assert [0] == trial.tensor("output/target").steps(Mode.TRAIN)

    def test_what_has_no_parameters_is_no_model(self, hook, opened):
        """Transforms of images are blocks, and run once for each image."""
        transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
        transform(nd.ones((4, 4, 3), dtype="uint8"))

        assert [] == opened().steps()


class TestTrainingIsNotHurt:
    def test_an_error_of_an_operator_reaches_the_script(self, hook):
        """MXNet tells it once, to whoever reads first; that is the hook, and it is passed on."""
        net = nn.Lambda(lambda x: nd.random.normal(0, x.shape[0] - 3, shape=(2, 2)))
        model = nn.Sequential()
        model.add(net, dense(in_units=2))

        with pytest.raises(MXNetError, match="sample_op"):
            model(nd.ones((2, 2)))

        assert hook.failure == ""

    def test_data_may_be_loaded_by_forked_processes(self, hook, opened):
        """What blocks do there is none of ours."""
        data = gluon.data.SimpleDataset(list(range(4))).transform(_in_the_child)
        loader = gluon.data.DataLoader(data, batch_size=2, num_workers=1)

        assert [[0, 1], [2, 3]] == [batch.asnumpy().tolist() for batch in loader]
        assert [] == opened().steps()


def _in_the_child(item):
    net = nn.Dense(1, in_units=1)
    net.initialize()
    net(nd.ones((1, 1)))
    return item
