"""What a registered hook saves, and under which names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from stepwatch.formats.smdebug.collections import Reduction, SavedCollection, Stored
from stepwatch_smdebug.hooks import torch as smdebug_torch
from tests.support.hooks.torch.registered_runs import a_net, batch

MEAN = Stored(reductions=(Reduction("mean"),))


class Returns(torch.nn.Module):
    """Returns what it is told to."""

    def __init__(self, returned) -> None:
        super().__init__()
        self.returned = returned

    def forward(self, *inputs, **named):
        return self.returned


@dataclass
class Answer:
    """An output with names."""

    logits: torch.Tensor
    hidden: tuple[torch.Tensor, ...]


def names_of(registered, module, *inputs, **named):
    """Return what is saved of one forward."""
    one = registered()
    one.hook.register_module(module)
    module(*inputs, **named)
    return one.names(0)


class TestNames:
    def test_nested_tuples_and_lists_are_numbered_through(self, registered):
        """What is no tensor is left out."""
        x = torch.ones(1)
        expected = ["Returns_input_0", "Returns_output_0", "Returns_output_1", "Returns_output_2"]

        assert expected == names_of(registered, Returns((x, [x, None, (x, "text")])), x)

    def test_a_module_that_is_called_again_counts_on(self, registered):
        """Within a step; the next one begins at 0."""
        net = torch.nn.Sequential(a_net().act)
        net.append(net[0])
        one = registered()
        one.hook.register_module(net)
        net(batch())
        net(batch())

        assert {"0_output_0", "0_output_1"} <= set(one.names(1))
        assert "0_output_2" not in one.names(1)

    def test_values_of_mappings_have_their_keys(self, registered):
        """Numbers of other tensors stay as they are without them."""
        x = torch.ones(1)
        expected = ["Returns_output_logits", "Returns_output_more_0", "Returns_output_0"]

        assert expected == names_of(registered, Returns(({"logits": x, "more": [x]}, x)))

    def test_fields_of_dataclasses_have_their_names(self, registered):
        """As the outputs of larger models do."""
        x = torch.ones(1)
        expected = ["Returns_output_logits", "Returns_output_hidden_0"]

        assert expected == names_of(registered, Returns(Answer(x, (x,))))

    def test_keyword_arguments_have_their_names(self, registered):
        """Positional ones are numbered."""
        x = torch.ones(1)

        assert ["Returns_input_mask"] == names_of(registered, Returns(None), mask=x)

    def test_parameters_do_not_shift_the_numbers_of_tensors(self, registered):
        """They are named by their class."""
        x, p = torch.ones(1), torch.nn.Parameter(torch.ones(1))
        expected = ["Returns_input_Parameter_0", "Returns_input_0"]

        assert expected == names_of(registered, Returns(None), p, x)

    def test_a_compiled_model_has_the_names_of_the_model(self, registered):
        """The compiler's wrapper does not show."""
        one, net = registered(), torch.compile(a_net(), backend="eager")
        one.hook.register_module(net)
        net(batch()).sum().backward()

        expected = {"Net_fc.weight", "Net_input_0", "Net_output_0", "gradient/Net_fc.bias"}
        assert expected <= set(one.names(0))


class TestValues:
    def test_weights_are_those_that_the_forward_used(self, registered):
        """Not those that the step left behind."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        before = net.fc.weight.detach().clone()
        net(batch()).sum().backward()
        torch.optim.SGD(net.parameters(), lr=1.0).step()

        assert before.tolist() == one.value(0, "Net_fc.weight").tolist()

    def test_the_gradient_is_that_of_the_last_backward(self, registered):
        """Not what was accumulated up to it."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        out = net(batch()).sum()
        out.backward(retain_graph=True)
        once = net.fc.bias.grad.clone()
        (out * 3).backward()

        assert (3 * once).tolist() == one.value(0, "gradient/Net_fc.bias").tolist()

    def test_bfloat16_is_stored_exactly(self, registered):
        """As float32, which every reader knows."""
        one, net = registered(), a_net().bfloat16()
        one.hook.register_module(net)
        net(batch().bfloat16()).sum().backward()

        expected = net.fc.weight.detach().float().tolist()
        assert expected == one.value(0, "Net_fc.weight").tolist()

    def test_a_sparse_gradient_is_stored_as_the_whole(self, registered):
        """With the zeros of the rows that were not looked up."""
        one, table = registered(), torch.nn.Embedding(5, 2, sparse=True)
        one.hook.register_module(table)
        table(torch.tensor([1, 1])).sum().backward()

        expected = [[0, 0], [2, 2], [0, 0], [0, 0], [0, 0]]
        assert expected == one.value(0, "gradient/Embedding_weight").tolist()

    def test_the_mean_of_a_sparse_gradient_is_over_all_elements(self, registered):
        """The zeros count, though nobody makes them."""
        one, table = registered(stored=MEAN), torch.nn.Embedding(5, 2, sparse=True)
        one.hook.register_module(table)
        table(torch.tensor([1])).sum().backward()

        mean = one.value(0, "smdebug/reductions/mean/gradient/Embedding_weight")
        assert pytest.approx(0.2) == mean.item()

    def test_integers_have_means(self, registered):
        """A batch of labels must not end a training."""
        one, table = registered(stored=MEAN), torch.nn.Embedding(5, 2)
        one.hook.register_module(table)
        table(torch.tensor([1, 2]))

        assert 1.5 == one.value(0, "smdebug/reductions/mean/Embedding_input_0").item()

    def test_complex_numbers_are_stored(self, registered):
        """They have no statistics, and a value all the same."""
        one, module = registered(), Returns(torch.tensor([1 + 2j]).conj())
        one.hook.register_module(module)
        module()

        assert [1 - 2j] == one.value(0, "Returns_output_0").tolist()

    def test_what_cannot_be_stored_is_named_once_and_left_out(self, registered, caplog):
        """Everything else of the step is there."""
        one = registered()
        module = Returns((torch.ones(1, device="meta"), torch.ones(1)))
        one.hook.register_module(module)
        module()
        module()

        assert ["Returns_output_1"] == one.names(1)
        assert 1 == caplog.text.count("Returns_output_0")

    def test_losses_are_known_by_the_collection_that_holds_them(self, registered):
        """So that rules about losses find them, whoever computed them."""
        losses = SavedCollection("losses", ("[Ll]oss_(?!input).*output",))
        one, net = registered(losses), a_net()
        one.hook.register_module(net)
        one.hook.record_output("my_loss", net(batch()).sum())  # before any step it is nobody's
        one.hook.record_output("my_loss", torch.tensor(2.0))

        assert "losses" == one.reader.tensors()["my_loss_output_0"]

    def test_statistics_are_enough_for_reductions(self, registered, tmp_path):
        """Full values are not copied where only numbers are stored."""
        one, net = registered(stored=MEAN), a_net()
        one.hook.register_module(net)
        net(batch())

        names = one.names(0)
        assert all(name.startswith("smdebug/reductions/mean/") for name in names)
        weight = one.value(0, "smdebug/reductions/mean/Net_fc.weight")
        assert pytest.approx(net.fc.weight.mean().item(), rel=1e-6) == weight.item()
        assert np.float32 == weight.dtype


class TestDevice:
    @pytest.fixture(autouse=True)
    def nothing_is_on_the_host(self, monkeypatch):
        """As on an accelerator."""
        monkeypatch.setattr(smdebug_torch, "on_host", lambda _: False)

    def test_reductions_are_those_of_the_device(self, registered):
        """Brought to the host together, when the step ends."""
        one, net = registered(stored=MEAN), a_net()
        one.hook.register_module(net)
        net(batch())

        expected = net.fc.weight.mean().item()
        found = one.value(0, "smdebug/reductions/mean/Net_fc.weight").item()
        assert pytest.approx(expected, rel=1e-6) == found

    def test_the_last_gradient_of_a_step_counts(self, registered):
        """Nothing is merged on the device either."""
        one, net = registered(stored=MEAN), a_net()
        one.hook.register_module(net)
        out = net(batch()).sum()
        out.backward(retain_graph=True)
        once = net.fc.bias.grad.mean().item()
        (out * 3).backward()

        found = one.value(0, "smdebug/reductions/mean/gradient/Net_fc.bias").item()
        assert pytest.approx(3 * once, rel=1e-6) == found
