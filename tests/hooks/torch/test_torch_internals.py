"""What is used of torch beside its public interface: each name is there, or its feature is off."""

from __future__ import annotations

import logging
from types import FunctionType, MappingProxyType

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.utils.data import DataLoader
from torch.utils.data._utils import fetch

from stepwatch import TorchHook
from stepwatch.capture.budget import Budget
from stepwatch.hooks.torch import events, internals
from tests.support.hooks.torch.trainings import X, Y, fit, mlp, sgd


@pytest.fixture(autouse=True)
def each_missing_name_is_logged_anew():
    """The log has each once for a process."""
    internals._log_missing.cache_clear()
    internals._skip_strategy.cache_clear()
    yield
    internals._skip_strategy.cache_clear()


@pytest.fixture
def without(monkeypatch):
    """Return what plays a torch that lacks some names."""

    def lack(*names):
        found = internals.private

        def private(name, without, default=None):
            lacks = name.rpartition(".")[2] in names or name.rpartition(":")[2] in names
            return found("torch:no_such_name" if lacks else name, without, default)

        monkeypatch.setattr(internals, "private", private)

    return lack


class TestMissing:
    def test_a_name_that_is_not_there_costs_its_feature_and_one_line(self, caplog):
        """Not the training, and not a line at each step."""
        with caplog.at_level(logging.WARNING, "stepwatch"):
            found = [internals.private("torch:_C._none", "nothing is seen", 7) for _ in range(3)]

        assert [7, 7, 7] == found
        assert [
            f"torch {torch.__version__} has no torch._C._none: nothing is seen; training goes on"
        ] == [record.getMessage() for record in caplog.records]

    def test_a_module_that_is_not_there_is_as_a_name_that_is_not(self):
        """A release may move a file."""
        assert internals.private("torch._no_such_module:name", "nothing") is None

    def test_a_training_goes_on_without_any_of_them(self, watched, without, caplog):
        """What can be observed without them is."""
        without(
            *("set_code_exec_strategy", "get_torch_obj_rule_map", "_clip_grads_with_norm_"),
            *("_BaseDataLoaderIter", "_get_builtin_table", "_MapDatasetFetcher"),
        )
        with caplog.at_level(logging.WARNING, "stepwatch"), watched() as seen:
            model = mlp()
            for x, y in DataLoader(list(zip(X, Y, strict=True)), batch_size=len(X)):
                F.cross_entropy(model(x), y).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer = sgd(model)
                optimizer.step()

        assert {"loss/cross_entropy", "gradient/0.weight"} <= set(seen.infos())
        assert "optimizer/max_norm" not in seen.infos()
        assert any("clipped gradients are not observed" in one.message for one in caplog.records)

    def test_nothing_is_missing_in_the_torch_of_the_tests(self, watched, caplog):
        """All features are on."""
        with caplog.at_level(logging.WARNING, "stepwatch"), watched():
            fit(mlp())

        assert [] == [one.message for one in caplog.records if "has no torch" in one.message]


class TestWhatRuns:
    def test_tracing_state(self):
        """There is one while ``torch.jit.trace`` runs a function."""
        states = []

        def function(x):
            states.append(internals.tracing_state())
            return x + 1

        torch.jit.trace(function, X)

        assert internals.tracing_state() is None
        assert states[0] is not None

    def test_current_graph_task_id(self):
        """It is a number while gradients are computed."""
        seen = []
        x = X.clone().requires_grad_()
        x.register_hook(
            lambda _: seen.append((internals.current_graph_task_id(), internals.in_backward()))
        )
        x.sum().backward()

        assert (internals.current_graph_task_id(), internals.in_backward()) == (-1, False)
        assert seen[0][0] >= 0
        assert seen[0][1]

    def test_in_transform_and_is_functorch_wrapped(self):
        """Inside of vmap."""
        seen = []

        def function(x):
            seen.append((internals.in_transform(), internals.is_functorch_wrapped(x)))
            return x

        torch.func.vmap(function)(X)

        assert [(True, True)] == seen
        assert not internals.in_transform()
        assert not internals.is_functorch_wrapped(X)

    def test_has_dispatch_mode_and_isolated_compute(self):
        """What counts operations does not count ours."""
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False) as counter:
            inside = internals.has_dispatch_mode()
            with internals.isolated_compute("cpu"):
                assert not torch.is_grad_enabled()
                torch.mm(X, X.T)

        assert inside
        assert counter.get_total_flops() == 0
        assert not internals.has_dispatch_mode()

    def test_is_profiling(self):
        """While a script profiles itself."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            assert internals.is_profiling()
        assert not internals.is_profiling()


class TestFrames:
    def test_call_keywords(self):
        """A global hook finds what its module is given by keyword."""
        found = []
        handle = nn.modules.module.register_module_forward_pre_hook(
            lambda *_: found.append(internals.call_keywords())
        )
        nn.Linear(X.shape[1], 1)(input=X)
        handle.remove()

        assert list(found[0]) == ["input"]
        assert found[0]["input"] is X
        assert internals.call_keywords() == {}

    def test_stepping_optimizers(self):
        """An optimizer in the step of another one is found with it."""
        found = []
        inner = sgd(mlp())

        class Outer(torch.optim.SGD):
            def step(self, closure=None):
                inner.step()

        outer = Outer(mlp().parameters(), 0.1)
        inner.register_step_pre_hook(
            lambda optimizer, *_: found.append(internals.stepping_optimizers(optimizer))
        )
        outer.step()

        assert [[inner, outer]] == found
        assert [inner] == internals.stepping_optimizers(inner)


class TestTensors:
    def test_is_wrapper_subclass(self):
        """One that holds others; also where torch has no function that says so."""
        from torch.testing._internal.two_tensor import TwoTensor

        assert internals.is_wrapper_subclass(TwoTensor(X, X))
        assert not internals.is_wrapper_subclass(X)

    def test_is_pending_collective(self):
        """No tensor is one where nothing is distributed; the class is there."""
        from torch.distributed import _functional_collectives as collectives

        assert not internals.is_pending_collective(X)
        assert isinstance(collectives.AsyncCollectiveTensor, type)

    def test_shard_offset_is_not_known_without_its_function(self, without):
        """A DTensor is then not observed; with it see ``test_torch_distributed``."""
        from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

        assert callable(compute_local_shape_and_global_offset)
        without("compute_local_shape_and_global_offset")
        assert internals.shard_offset(torch.Size([4]), None, ()) is None

    @pytest.mark.parametrize("copy", [internals.copy_all, internals._copy_one_by_one])
    def test_copy_all(self, copy):
        """By one launch or by several."""
        targets = [torch.zeros(3), torch.zeros(2)]
        copy(targets, [torch.ones(3), torch.full((2,), 2.0)])

        assert [[1, 1, 1], [2, 2]] == [one.tolist() for one in targets]

    def test_output_shape(self):
        """What a node of a graph knows of shapes."""
        x = torch.ones(3, 2, requires_grad=True)

        assert internals.output_shape((x * 2).grad_fn) == (3, 2)
        assert internals.output_shape(None) == ()


class TestWrapped:
    def test_clipping(self):
        """Both functions can be exchanged."""
        found = [internals.clipping_by_norm(), internals.clipping_by_value()]

        assert all(isinstance(one, FunctionType) for one in found)

    def test_loader_iterator_and_batch_fetchers(self):
        """The classes that data loaders use."""
        assert isinstance(iter(DataLoader([1, 2])), internals.loader_iterator())
        assert [
            fetch._MapDatasetFetcher,
            fetch._IterableDatasetFetcher,
        ] == internals.batch_fetchers()

    def test_reducers_and_what_is_known_of_a_wrapper(self):
        """A class in C is what it was once the hook is gone."""
        name = "prepare_for_backward"
        kind = internals.reducers()
        before = vars(kind)[name]
        with TorchHook(run="memory://reducers", say=lambda _: None, strict=True):
            assert before is not vars(kind)[name]
        assert (torch.distributed.Reducer, before) == (kind, vars(kind)[name])

        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        try:
            wrapper = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
            assert wrapper.reducer is internals.ddp_reducer(wrapper)
            assert not internals.has_comm_hook(wrapper)
            wrapper.register_comm_hook(None, allreduce_hook)
            assert internals.has_comm_hook(wrapper)
            wrapper(torch.ones(3, 2)).sum().backward()
            wrapper._use_python_reducer = True
            assert internals.ddp_reducer(wrapper) is None
            del wrapper  # torch may abort when a group goes before what works with it
        finally:
            torch.distributed.destroy_process_group()

    def test_scheduler_steps(self):
        """The first step is one by which a scheduler makes itself."""
        seen = []

        class Noting(torch.optim.lr_scheduler.StepLR):
            def get_lr(self):
                seen.append(internals.is_initial_step(self))
                return super().get_lr()

        optimizer = sgd(mlp())
        scheduler = Noting(optimizer, 1)
        optimizer.step()
        scheduler.step()

        assert [True, False] == seen
        kind = torch.optim.lr_scheduler.LRScheduler
        assert hasattr(kind, internals.scheduler_step_name(kind))

    def test_loss_scale(self):
        """Once a scaler has one."""
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        before = internals.loss_scale(scaler)
        scaler.scale(torch.ones(()))

        assert before is None
        assert internals.loss_scale(scaler) == 8.0

    def test_request_forward_kwargs(self):
        """A global pre-hook is given keywords for one call."""
        given = []
        module = nn.Linear(X.shape[1], 1)
        handle = nn.modules.module.register_module_forward_pre_hook(
            lambda _, args, kwargs=None: given.append(kwargs)
        )
        internals.request_forward_kwargs(module, handle.id)
        module(input=X)
        wanted = internals.requests_forward_kwargs(module, handle.id)
        with pytest.raises(TypeError):
            module()
        handle.remove()

        assert wanted
        assert given[0]["input"] is X
        assert given[1] is None
        assert not internals.requests_forward_kwargs(module, handle.id)

    def test_replace_code(self):
        """The function stays the same object, calls a wrapper, and becomes what it was."""

        def double(x: float, by: float = 2.0) -> float:
            return x * by

        code = double.__code__
        undo = internals.replace_code(double, lambda original: lambda *a, **k: -original(*a, **k))
        replaced = double(3.0), double(3.0, by=1.0)
        undo()

        assert (-6.0, -3.0) == replaced
        assert double(3.0) == 6.0
        assert double.__code__ is code

    def test_scripts_compile_the_original(self):
        """Neither a wrapper nor what stands for an operator is in the way."""

        def wrapper(*args):
            raise AssertionError(args)

        def original(x):
            return x + 1

        internals.let_script_compile(wrapper, original)
        table = torch.jit._builtins._get_builtin_table()
        internals.script_as(wrapper, "aten::relu")
        named = table[id(wrapper)]
        internals.script_as(wrapper, None)

        assert vars(wrapper)["__original_fn"] is original
        assert named == "aten::relu"
        assert id(wrapper) not in table


class TestCompiler:
    def test_eager_only_runs_what_it_wraps_where_nothing_is_compiled(self):
        calls = []
        internals.eager_only(calls.append)(1)

        assert [1] == calls

    def test_events_are_emitted_where_nobody_knows_what_is_compiled(self, monkeypatch):
        monkeypatch.setattr(events, "compiler_callback", lambda: internals.UNKNOWN)
        source, calls = events.Events(events.HookGuard(strict=True), Budget(None)), []
        source.subscribe("logged", calls.append)
        source.source("logged")(1)

        assert [1] == calls

    def test_skipped_frames_are_a_matter_of_speed(self, without):
        """Without the name they are compiled."""
        assert internals._skip_strategy() is not None
        internals._skip_strategy.cache_clear()
        without("set_code_exec_strategy")

        assert internals.dynamo_skip_frame(abs)(-1) == 1
        assert internals._skip_strategy() is None

    def test_dynamo_inline_original(self, without):
        """The rule of a function that is taken into graphs as it is is exchanged, and put back."""
        from torch._dynamo.trace_rules import get_torch_obj_rule_map

        rules, softmax = get_torch_obj_rule_map(), F.softmax
        rule = rules[softmax]

        def original():
            return None

        undo = internals.dynamo_inline_original(softmax, original)
        exchanged = rules[original], rules[softmax]
        undo(softmax)

        assert (rule, rule) == (exchanged[0], rules[softmax])
        assert exchanged[1] is not rule
        assert original not in rules
        without("get_torch_obj_rule_map")
        internals.dynamo_inline_original(softmax, original)(softmax)
        assert rules[softmax] is rule

    def test_mark_static(self):
        """It marks a tensor, and does without."""
        internals.mark_static(X.clone())

    def test_nothing_is_traced_outside_of_a_compiler(self):
        """There are no frames of it, and no graphs."""
        assert internals.traced_frames() == []

    @pytest.mark.slow
    def test_has_compiled_graphs(self):
        """Once something was compiled."""
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        before = internals.has_compiled_graphs()
        torch.compile(lambda x: x + 1, backend="eager")(X)

        assert not before
        assert internals.has_compiled_graphs()

    def test_fake_tensors(self):
        """They stand for others while a graph is made."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            fake = torch.ones(2)

        assert internals.is_fake(fake)
        assert not internals.is_fake(X)
        assert not internals.has_unknown_shape(fake)

    def test_traced_values(self):
        """What a compiler says of a variable is found, where it says so."""

        class Variable:
            value = 7

        class Frame:
            symbolic_locals = MappingProxyType({"x": Variable()})

        assert internals.traced_value(Frame, "x") == 7
        assert internals.traced_value(Frame, "y") is None
