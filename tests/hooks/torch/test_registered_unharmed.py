"""A registered hook leaves the training and the model as they are."""

from __future__ import annotations

import copy
import io
import pickle
import sys

import pytest
import torch

from stepwatch import Trial
from stepwatch_smdebug.hooks.base import SmdebugSteps
from tests.support import fork_server
from tests.support.hooks.torch.registered_runs import a_net, batch


def hooks_on(net) -> int:
    """Return how many hooks hang on a model."""
    modules = sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in net.modules())
    return modules + sum(len(one._backward_hooks or ()) for one in net.parameters())


class TestUnsavedSteps:
    def test_only_one_hook_is_left_on_the_model(self, registered):
        """What is not there costs nothing."""
        one, net = registered(interval=2), a_net()
        one.hook.register_module(net)
        net(batch())
        due = hooks_on(net)
        net(batch())

        assert due > 1
        assert 1 == hooks_on(net)

    def test_nothing_is_left_after_the_end(self, registered):
        """The model is the script's own again."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        net(batch())
        one.hook.close()

        assert 0 == hooks_on(net)


class TestCopies:
    def test_a_copied_model_runs_and_is_not_a_step(self, registered):
        """An average of the weights, say, is kept in a copy."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        net(batch())
        copied = copy.deepcopy(net)
        out = copied(batch())

        assert torch.equal(out, net(batch()))
        assert [0, 1] == [step for step, *_ in one.steps()]

    def test_a_pickled_model_runs(self, registered):
        """Hooks are no reason not to keep a model."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        net(batch()).sum().backward()
        again = pickle.loads(pickle.dumps(net))

        assert torch.equal(net(batch()), again(batch()))

    def test_saving_a_checkpoint_warns_of_nothing(self, registered, recwarn):
        """Neither of its weights nor of the whole model."""
        one, net = registered(), a_net()
        one.hook.register_module(net)
        net(batch()).sum().backward()
        torch.save(net.state_dict(), io.BytesIO())
        torch.save(net, io.BytesIO())

        assert [] == [str(one.message) for one in recwarn]


class TestTraining:
    def test_weights_are_bit_for_bit_those_of_an_unwatched_training(self, registered):
        """Looking changes nothing."""

        def trained(hook):
            torch.manual_seed(3)
            net = a_net()
            if hook is not None:
                hook.register_module(net)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for _ in range(4):
                optimizer.zero_grad()
                net(torch.randn(4, 3)).square().sum().backward()
                optimizer.step()
            return net.fc.weight

        assert torch.equal(trained(None), trained(registered(interval=2).hook))

    def test_scripted_parts_of_a_model_are_passed_over(self, registered):
        """They take no hooks; the rest of the model is saved."""
        one, net = registered(), a_net()
        net.act = torch.jit.script(net.act)
        one.hook.register_module(net)
        net(batch())

        assert "fc_output_0" in one.names(0)
        assert "act_output_0" not in one.names(0)

    def test_a_fault_of_ours_does_not_reach_it(self, registered, monkeypatch):
        """It is said once, and capturing is over."""
        one, net = registered(hook={"strict": False}), a_net()
        one.hook.register_module(net)

        def broken(*_):
            raise OSError("broken")

        monkeypatch.setattr(SmdebugSteps, "parameters", broken)
        net(batch()).sum().backward()

        assert not one.hook.active

    @pytest.mark.slow
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_a_compiled_model_counts_its_steps(self, registered, when):
        """Whether it was compiled before it was registered or after."""
        torch._dynamo.reset()
        one, net = registered(), a_net()
        compiled = torch.compile(net, backend="eager") if when == "before" else net
        one.hook.register_module(compiled)
        if when == "after":
            compiled = torch.compile(net, backend="eager")
        for _ in range(3):
            compiled(batch()).sum().backward()

        assert 2 == one.hook.numbers.step
        assert "gradient/Net_fc.weight" in one.names(2)

    def test_a_model_that_compiles_itself_counts_its_steps(self, registered):
        """The hook is inside of what is compiled then."""
        torch._dynamo.reset()
        one, net = registered(interval=2), a_net()
        one.hook.register_module(net)
        net.compile(backend="eager")
        for _ in range(3):
            net(batch()).sum().backward()

        assert [0, 2] == [step for step, *_ in one.steps()]

    def test_a_model_may_be_compiled_as_one_graph(self, registered):
        """The hooks are no reason for the graph to break."""
        torch._dynamo.reset()
        one, net = registered(), a_net()
        one.hook.register_module(net)
        net.compile(backend="eager", fullgraph=True)

        assert torch.equal(net.act(net.fc(batch())), net(batch()))

    def test_what_is_compiled_as_one_graph_counts_its_steps(self, registered):
        """Where it was registered after that."""
        torch._dynamo.reset()
        one, net = registered(), torch.compile(a_net(), backend="eager", fullgraph=True)
        one.hook.register_module(net)
        net(batch()).sum().backward()

        assert "gradient/Net_fc.weight" in one.names(0)

    def test_hooks_that_come_and_go_compile_nothing_anew(self, registered):
        """Steps that save and steps that do not run the same graph."""
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        one, net = registered(interval=2), torch.compile(a_net(), backend="eager")
        one.hook.register_module(net)
        for _ in range(6):
            net(batch()).sum().backward()

        assert 1 == torch._dynamo.utils.counters["stats"]["unique_graphs"]


class TestOtherProcesses:
    @pytest.mark.parametrize("child", ["FORK", pytest.param("SPAWN", marks=pytest.mark.slow)])
    def test_a_process_that_trains_nothing_leaves_the_run_to_the_one_that_does(
        self, tmp_path, child
    ):
        """A child that ends, and helpers that import the script, have made a hook as well."""
        script = tmp_path / "script.py"
        script.write_text(SCRIPT.replace("CHILD", CHILDREN[child]))
        fork_server.run([sys.executable, script, tmp_path / "run"], check=True, timeout=100)

        assert [0, 1, 2] == Trial(tmp_path / "run").steps()


CHILDREN = {
    "FORK": "import os\nif os.fork() == 0: sys.exit()\nos.wait()",
    "SPAWN": """import multiprocessing
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool: pool.map(abs, [1])
""",
}
SCRIPT = """
import sys, torch
from stepwatch.formats.smdebug.collections import SavedCollection, SaveSteps
from stepwatch_smdebug.plan import HookConfig
from stepwatch_smdebug.hooks.torch import SmdebugTorchHook
from stepwatch.model.steps import Mode
steps = {mode: SaveSteps(interval=1) for mode in Mode}
config = HookConfig(sys.argv[1], (SavedCollection("all", (".*",), steps=steps),), {"all"})
hook, net = SmdebugTorchHook(config), torch.nn.Linear(2, 1)
CHILD
if __name__ == "__main__":
    hook.register_module(net)
    for _ in range(3):
        net(torch.ones(1, 2))
"""


class TestOddTensors:
    def test_a_nested_tensor_is_passed_over(self, registered):
        """It has no shape; a transformer makes one of a padded batch."""
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        net = torch.nn.TransformerEncoder(layer, 1).eval()
        one = registered()
        one.hook.register_module(net)
        with torch.no_grad():
            net(
                torch.ones(2, 3, 8),
                src_key_padding_mask=torch.tensor([[0, 0, 1], [0, 1, 1]]).bool(),
            )

        assert one.hook.active
