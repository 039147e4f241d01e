"""All that is used of torch beside its public interface; no other file names it.

Each name stands in one small function or constant, and a test calls it with the release of torch
that the tests run with; no other was tried. Where a release lacks a name, the feature that needs it
is off, one line in the log says so, and the training goes on.

Attributes of public objects that torch itself documents to authors of subclasses (``_version`` and
``_base`` of tensors, ``_parameters`` of modules) are used where they are needed.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from importlib import import_module
from operator import attrgetter
from types import FrameType, FunctionType
from typing import Any, TypeVar

import torch
import torch.distributed

# Base classes that modules inherit; public but for their names.
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm
from torch.nn.modules.dropout import _DropoutNd as Dropout
from torch.nn.modules.loss import _Loss as Loss

__all__ = ["BatchNorm", "Dropout", "Loss"]

_log = logging.getLogger("stepwatch")
Function = TypeVar("Function", bound=Callable[..., Any])


def private(name: str, without: str, default: Any = None) -> Any:
    """Return a private name of torch.

    Args:
        name: ``module:attribute``.
        without: What is lost where it is not there.
        default: Returned where it is not there.
    """
    module, _, attribute = name.partition(":")
    try:
        return attrgetter(attribute)(import_module(module))
    except (ImportError, AttributeError):
        _log_missing(name, without)
        return default


@cache
def _log_missing(name: str, without: str) -> None:
    name = name.replace(":", ".")
    _log.warning("torch %s has no %s: %s; training goes on", torch.__version__, name, without)


# Which code runs now. Aliases of C functions, as they are called for each module that runs.

#: Returns what ``torch.jit.trace`` records, ``None`` outside of it.
tracing_state: Callable[[], object] = private(
    "torch:_C._get_tracing_state", "what torch.jit.trace runs is observed", lambda: None
)
#: Returns the number of the backward pass that computes gradients, -1 outside of one.
current_graph_task_id: Callable[[], int] = private(
    "torch:_C._current_graph_task_id", "what checkpointing runs again is observed", lambda: -1
)
_interpreter: Callable[[], object] = private(
    "torch:_C._functorch.peek_interpreter_stack", "torch.func is not recognized", lambda: None
)
#: Returns whether a tensor is inside of a transform of ``torch.func``, such as vmap.
is_functorch_wrapped: Callable[[torch.Tensor], bool] = private(
    "torch:_C._functorch.is_functorch_wrapped_tensor",
    "tensors inside of torch.func are not recognized",
    lambda _: False,
)
_num_dispatch_modes: Callable[[], int] = private(
    "torch:_C._len_torch_dispatch_stack", "tracing by dispatch is not recognized", lambda: 0
)
#: Returns whether ``torch.autograd.profiler`` is on.
is_profiling: Callable[[], bool] = private(
    "torch:_C._autograd._profiler_enabled", "a second profiler is not recognized", lambda: False
)


#: The hooks on all modules, by the number of their handle.
global_forward_pre_hooks: dict[int, object] = private(
    "torch.nn.modules.module:_global_forward_pre_hooks", "modules cost more", {}
)
global_forward_hooks: dict[int, object] = private(
    "torch.nn.modules.module:_global_forward_hooks", "modules cost more", {}
)


def in_backward() -> bool:
    """Return whether gradients are being computed: what runs now is computed anew for them."""
    return current_graph_task_id() != -1


def in_transform() -> bool:
    """Return whether a transform of torch.func runs, such as vmap: tensors have no values."""
    return _interpreter() is not None


def has_dispatch_mode() -> bool:
    """Return whether operations are traced, or counted, by a ``TorchDispatchMode``."""
    return _num_dispatch_modes() > 0


_NoFunction = private("torch:_C.DisableTorchFunction", "modes notice statistics", nullcontext)
_NoDispatch = private("torch:_C._DisableTorchDispatch", "modes notice statistics", nullcontext)


@contextmanager
def isolated_compute(device_type: str) -> Iterator[None]:
    """Compute without gradients, outside of every mode and of autocast.

    Checkpointing that selects what it keeps, and what counts operations, would take ours for the
    model's.

    Args:
        device_type: Where it is computed, such as ``cuda``.
    """
    with torch.no_grad(), _NoFunction(), _NoDispatch():
        has_autocast = torch.amp.is_autocast_available(device_type)  # the device "meta" has none
        if not (has_autocast and torch.is_autocast_enabled(device_type)):
            yield
            return
        with torch.autocast(device_type, enabled=False):
            yield


# Frames. Torch hands hooks no keyword arguments before a module runs, and no optimizer that is
# around another; both are in the frames that call the hook.

_MODULE_FILE = torch.nn.modules.module.__file__
# Where the losses of torch that are modules are defined, and how near they call its functions.
_LOSSES_FILE, _MOST_FRAMES = torch.nn.modules.loss.__file__, 5


def call_keywords() -> dict[str, object]:
    """Return the keyword arguments of the innermost call of a module; empty where not found.

    They are ``kwargs`` in the frame of ``Module._call_impl``.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == _MODULE_FILE:
            found = frame.f_locals.get("kwargs")
            return found if isinstance(found, dict) else {}
        frame = frame.f_back
    return {}


def calling_loss() -> torch.nn.Module | None:
    """Return the module of torch that computes a loss by the function that was just wrapped.

    Its hooks may be paused, as those of all modules inside of a model are.
    """
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_MOST_FRAMES):
        frame = None if frame is None else frame.f_back
        if frame is not None and frame.f_code.co_filename == _LOSSES_FILE:
            module = frame.f_locals.get("self")
            return module if isinstance(module, Loss) else None
    return None


def stepping_optimizers(optimizer: torch.optim.Optimizer) -> list[torch.optim.Optimizer]:
    """Return this optimizer, which is in its step, and those in the steps of which that is.

    One is in the list twice if the step of its class calls that of its parent. Torch wraps the
    steps of all classes into one and the same code, whose first parameter is ``self``.
    """
    code = getattr(type(optimizer).step, "__code__", None)
    found: list[Any] = []
    frame = sys._getframe()
    while (caller := frame.f_back) is not None:
        if caller.f_code is code:
            found.append(caller.f_locals.get("self"))
        frame = caller
    return found if optimizer in found else [optimizer, *found]


# Tensors


def is_wrapper_subclass(tensor: torch.Tensor) -> bool:
    """Return whether a tensor of a subclass holds others instead of values."""
    found: bool = _is_wrapper_subclass(tensor)
    return found


_is_wrapper_subclass = private(
    "torch.utils._python_dispatch:is_traceable_wrapper_subclass",
    "wrapper subclasses are known by their __tensor_flatten__ alone",
    lambda tensor: hasattr(tensor, "__tensor_flatten__"),
)


def is_pending_collective(tensor: torch.Tensor) -> bool:
    """Return whether a collective is still to fill a tensor, or was not waited for.

    No tensor is an ``AsyncCollectiveTensor`` while its module is not imported.
    """
    module = sys.modules.get("torch.distributed._functional_collectives")
    kind = getattr(module, "AsyncCollectiveTensor", None)
    return kind is not None and isinstance(tensor, kind)


def shard_offset(
    shape: torch.Size, mesh: object, placements: Sequence[object]
) -> tuple[int, ...] | None:
    """Return where the part of a DTensor begins that is here; ``None`` where it is not known.

    There is no public name for it; checkpoints are laid out by it.
    """
    compute = private(
        "torch.distributed.tensor._utils:compute_local_shape_and_global_offset",
        "sharded tensors are not observed",
    )
    return None if compute is None else tuple(map(int, compute(shape, mesh, placements)[1]))


def copy_all(targets: Sequence[torch.Tensor], sources: Sequence[torch.Tensor]) -> None:
    """Copy tensors into others in one launch."""
    _foreach_copy(targets, sources)


def _copy_one_by_one(targets: Sequence[torch.Tensor], sources: Sequence[torch.Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


_foreach_copy: Callable[..., object] = private(
    "torch:_foreach_copy_", "slots are emptied one by one", _copy_one_by_one
)


def output_shape(function: object) -> tuple[int, ...]:
    """Return the shape of what a node of a graph computed; empty where it is not known.

    Torch calls it ``_input_metadata``, of the gradients that come in.
    """
    metadata: Any = getattr(function, "_input_metadata", ())
    return tuple(metadata[0].shape) if len(metadata) == 1 else ()


# What is wrapped


def clipping_by_norm() -> FunctionType | None:
    """Return what all clipping by the norm comes to, inside of its ``@no_grad``."""
    return _unwrapped(private("torch:nn.utils.clip_grad._clip_grads_with_norm_", _NO_CLIPPING))


def clipping_by_value() -> FunctionType | None:
    """Return ``clip_grad_value_`` inside of its ``@no_grad``."""
    return _unwrapped(torch.nn.utils.clip_grad.clip_grad_value_)


def summing() -> FunctionType | None:
    """Return ``all_reduce`` inside of what logs its failures; ``None`` without processes."""
    return _unwrapped(getattr(torch.distributed, "all_reduce", None))


_NO_CLIPPING = "clipped gradients are not observed"


def _unwrapped(function: Any) -> FunctionType | None:
    inner = getattr(function, "__wrapped__", None)
    return inner if isinstance(inner, FunctionType) and not inner.__closure__ else None


def loader_iterator() -> type | None:
    """Return the class of what iterates over a ``DataLoader``."""
    found: type | None = private(
        "torch.utils.data.dataloader:_BaseDataLoaderIter", "waits for data are not observed"
    )
    return found


def is_mid_epoch(iterator: Any) -> bool:
    """Return whether the iterator of a ``DataLoader`` gave some batches and has more to give.

    Args:
        iterator: ``None`` where it is gone, as after its last batch.
    """
    given, sampler = getattr(iterator, "_num_yielded", 0), getattr(iterator, "_index_sampler", None)
    try:
        return 0 < given < len(sampler)  # type: ignore[arg-type]
    except TypeError:  # of a stream nobody knows the end
        return bool(given)


def reducers() -> type | None:
    """Return the class of what averages gradients for ``DistributedDataParallel``."""
    if not torch.distributed.is_available():
        return None
    found: type | None = private(
        "torch.distributed:Reducer", "replicas that train alone are found by their weights only"
    )
    return found


def ddp_reducer(wrapper: object) -> object | None:
    """Return what averages the gradients of a ``DistributedDataParallel``.

    It is ``None`` where something else does: graphs of compiled autograd, or a hook on another
    parameter, to which all of it is delayed.
    """
    if getattr(wrapper, "_use_python_reducer", False):
        return None
    found: object | None = getattr(wrapper, "reducer", None)
    return found


def has_comm_hook(wrapper: object) -> bool:
    """Return whether a script says by itself what is done to average gradients."""
    return bool(getattr(wrapper, "_comm_hooks", ()))


def batch_fetchers() -> list[type]:
    """Return the classes by which the processes of a data loader make a batch."""
    without = "the processes of data loaders are not profiled"
    names = ("_MapDatasetFetcher", "_IterableDatasetFetcher")
    found = [private(f"torch.utils.data._utils.fetch:{name}", without) for name in names]
    return [kind for kind in found if kind is not None]


def scheduler_step_name(kind: type) -> str:
    """Return the method of a class of schedulers that steps, of those that warn the innermost.

    A warning of ``step`` names the line that called it, which is to be the
    script's; newer releases call ``_update_lr``, which warns of nothing.
    """
    return "_update_lr" if "_update_lr" in vars(kind) else "step"


def is_initial_step(scheduler: object) -> bool:
    """Return whether a scheduler is being made; it takes a first step by itself."""
    return bool(getattr(scheduler, "_is_initial", False))


def loss_scale(scaler: object) -> torch.Tensor | None:
    """Return what a gradient scaler multiplies losses by; ``get_scale()`` waits for a device."""
    scale = getattr(scaler, "_scale", None)
    return scale if isinstance(scale, torch.Tensor) else None


def request_forward_kwargs(module: torch.nn.Module, hook: int) -> None:
    """Have a global pre-hook, by its id, given keyword arguments in the next call of a module."""
    module._forward_pre_hooks_with_kwargs[hook] = True


def requests_forward_kwargs(module: torch.nn.Module, hook: int) -> bool:
    """Return whether it was to be given them, and have it given them no more."""
    return module._forward_pre_hooks_with_kwargs.pop(hook, None) is not None


def let_script_compile(wrapper: Any, original: Any) -> None:
    """Let torch.jit.script compile the original in the wrapper's place."""
    # By string: a class would mangle the names.
    setattr(wrapper, "__original_fn", original)
    setattr(wrapper, "__script_if_tracing_wrapper", True)


def script_as(function: Any, operator: str | None) -> None:
    """Let torch.jit.script compile a function as an operator, or no longer."""
    table = private("torch.jit._builtins:_get_builtin_table", "no attention in scripts", dict)()
    if operator is None:
        table.pop(id(function), None)
    else:
        table[id(function)] = operator


def replace_code(function: FunctionType, make: Callable[[Any], Any]) -> Callable[[], None]:
    """Make a function call a wrapper of what it was; it stays the same object.

    Args:
        function: Without a closure.
        make: Returns the wrapper of what it is given.

    Returns:
        What undoes it.
    """
    original = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    attributes = dict(function.__dict__)
    functools.update_wrapper(original, function)
    original.__dict__.pop("__wrapped__")
    original.__dict__.update(attributes)  # another hook's original, if there is one
    wrapper = dynamo_skip_frame(make(original))
    function.__code__ = _call.__code__
    function.__defaults__ = None
    function.__kwdefaults__ = {"_stepwatch": wrapper}
    # For inspect, and so for torch.jit.script: signature and source are those of the original.
    function.__dict__["__wrapped__"] = original
    undo_inlining = dynamo_inline_original(function, original)

    def undo() -> None:
        holder = function
        # Another hook may have come after, and hold what calls this wrapper.
        while (holder.__kwdefaults__ or {}).get("_stepwatch") is not wrapper:
            holder = holder.__dict__.get("__wrapped__")  # type: ignore[assignment]
            if not isinstance(holder, FunctionType):
                return
        undo_inlining(holder)
        holder.__code__ = original.__code__
        holder.__defaults__ = original.__defaults__
        holder.__kwdefaults__ = original.__kwdefaults__
        holder.__dict__.clear()
        holder.__dict__.update(original.__dict__)

    return undo


def _call(*args: Any, _stepwatch: Any, **kwargs: Any) -> Any:
    return _stepwatch(*args, **kwargs)


# The compiler. While a compiled model runs, every Python function that is called outside of its
# graph is a frame that the compiler would compile, ours too: these run as they are. What imports
# ``torch._dynamo`` does so in a function, as it takes seconds.

_NO_FRAMES = "hooks run more slowly where a model is compiled"
UNKNOWN = "unknown"
#: Returns what compiles the frames of this thread, ``None`` or ``False`` for nothing, or UNKNOWN.
compiler_callback: Callable[[], object] = private(
    "torch._C._dynamo.eval_frame:get_eval_frame_callback", _NO_FRAMES, lambda: UNKNOWN
)


def eager_only(function: Function) -> Function:
    """Return a function that does nothing where a compiler traces it, and is unseen elsewhere."""
    disabled: Any = torch.compiler.disable(function)  # type: ignore[no-untyped-call]

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if torch.compiler.is_compiling():
            return None
        # Where nothing is compiled it costs less without.
        if compiler_callback() in (None, False):
            return function(*args)
        return disabled(*args)

    return dynamo_skip_frame(call)  # type: ignore[return-value]  # same signature


def dynamo_skip_frame(function: Function) -> Function:
    """Let a function run as it is where it is called by itself; traced where it is inlined."""
    skip = _skip_strategy()
    if skip is not None:
        with suppress(TypeError, AttributeError):
            set_strategy, strategy = skip
            set_strategy(function.__code__, strategy)
    return function


@cache
def _skip_strategy() -> tuple[Callable[..., None], object] | None:
    module = "torch._C._dynamo.eval_frame"
    set_strategy = private(f"{module}:set_code_exec_strategy", _NO_FRAMES)
    strategy = private(f"{module}:_FrameExecStrategy", _NO_FRAMES)
    action = private(f"{module}:_FrameAction", _NO_FRAMES)
    if None in (set_strategy, strategy, action):
        return None
    return set_strategy, strategy(action.SKIP, action.DEFAULT)


def dynamo_inline_original(
    function: FunctionType, original: FunctionType
) -> Callable[[FunctionType], None]:
    """Let a compiler look into a function of torch that it would take into its graph as it is.


    Args:
        function: It calls a wrapper of what it was.
        original: What it was; this is taken into the graph instead.

    Returns:
        What undoes it; it is given what becomes the original again.
    """
    without = "losses inside of compiled graphs are not observed"
    rule_map = private("torch._dynamo.trace_rules:get_torch_obj_rule_map", without)
    inlined = private("torch._dynamo.variables:UserFunctionVariable", without)
    if rule_map is None or inlined is None or function not in rule_map():
        return lambda _: None
    rules = rule_map()
    rules[original], rules[function] = rules[function], inlined

    def undo(holder: FunctionType) -> None:
        if original in rules:
            rules[holder] = rules.pop(original)

    return undo


def mark_static(tensor: torch.Tensor) -> None:
    """Let a compiler take the shape of a tensor for a constant."""
    private("torch._dynamo:mark_static", "graphs may be compiled again", lambda _: None)(tensor)


def has_compiled_graphs() -> bool:
    """Return whether anything was compiled."""
    if "torch._dynamo" not in sys.modules:
        return False
    return bool(_compiler_counters().get("stats", {}).get("unique_graphs"))


@cache
def _compiler_counters() -> dict[str, dict[str, int]]:
    without = "what was compiled before the hook is not observed"
    counters: dict[str, dict[str, int]] = private("torch._dynamo.utils:counters", without, {})
    return counters


def traced_frames() -> list[Any]:
    """Return the frames that a compiler traces, the innermost first, when it calls for a constant.

    They are the translators of ``torch._dynamo.symbolic_convert``: ``tx`` in the frame of
    ``invoke_and_store_as_constant``, and the ``parent`` of each. The list is empty where
    nothing is traced.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != "invoke_and_store_as_constant":
        frame = frame.f_back
    translator: Any = frame.f_locals.get("tx") if frame is not None else None
    found = []
    while translator is not None:
        found.append(translator)
        translator = getattr(translator, "parent", None)
    return found


def traced_value(frame: Any, name: str) -> object:
    """Return what a variable of a traced frame stands for, ``None`` where that is not known.

    To ask a lazy variable would add a guard.
    """
    variable = frame.symbolic_locals.get(name)
    if hasattr(variable, "original_value"):
        variable = variable.realize() if variable.is_realized() else variable.original_value()
    try:
        return getattr(variable, "value", variable)
    except Exception:  # noqa: BLE001  a list that holds a tensor says so
        return None


def traced_tensor_of(frame: Any, name: str) -> torch.Tensor:
    """Return what stands for a tensor in a traced frame: shape and dtype, and no values."""
    found: torch.Tensor = frame.symbolic_locals[name].realize().proxy.node.meta["example_value"]
    return found


def enclosing_operators(frame: Any) -> Iterator[object]:
    """Yield the higher order operators that a traced frame is inside of, such as checkpointing."""
    tracer = frame.output.current_tracer
    while tracer.parent is not None:
        yield tracer.source_target
        tracer = tracer.parent


def is_fake(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has no values but stands for one that does."""
    without = "nothing inside of compiled graphs is observed"
    kind = private("torch._subclasses.fake_tensor:FakeTensor", without)
    return type(tensor) is kind


def has_unknown_shape(tensor: torch.Tensor) -> bool:
    """Return whether a shape follows from values, as that of ``nonzero`` does."""
    without = "nothing inside of compiled graphs is observed"
    name = "torch.fx.experimental.symbolic_shapes:has_free_unbacked_symbols"
    return bool(private(name, without, lambda _: True)(tensor))


def may_have_optimizers() -> bool:
    """Return whether an optimizer may have been made in this process.

    The first of a class marks the ``step`` of that class.
    """
    if not hasattr(torch.optim.Optimizer, "profile_hook_step"):
        return True
    classes = [torch.optim.Optimizer]
    for one in classes:
        classes += one.__subclasses__()
    return any(getattr(one.step, "hooked", False) for one in classes)
