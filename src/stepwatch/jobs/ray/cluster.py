"""A Ray cluster, and calls that are made on its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from types import ModuleType
from typing import Any, TypeVar

from ...errors import ClusterUnavailable, ConfigError
from ...plugins.registry import require

T = TypeVar("T")
# So many calls wait for each processor of a cluster.
_WAITING = 4


def connect(*, show_output: bool = False) -> ModuleType:
    """Return Ray, connected to the cluster of ``$RAY_ADDRESS``, else of this machine.

    Args:
        show_output: Print here what is printed on the nodes.

    Raises:
        MissingDependency: Ray is not installed.
        ClusterUnavailable: There is no cluster.
    """
    ray = require("ray", extra="ray")
    if not ray.is_initialized():
        try:
            ray.init(address="auto", logging_level="error", log_to_driver=show_output)
        except ConnectionError:
            raise ClusterUnavailable(
                "there is no Ray cluster; set RAY_ADDRESS, or begin one with: ray start --head"
            ) from None
        if not show_output:
            _silence(ray)
    return ray


def _silence(ray: ModuleType) -> None:
    """Keep Ray from printing to standard output what its nodes say when one of them dies.

    It does so whatever it is told about logs, and has no option for it; there it would stand within
    the table or the JSON that a verb prints. ``spread`` names the nodes that are lost.
    """
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None


def resources(text: str) -> dict[str, Any]:
    """Return the resources that Ray reserves for a process, as its options.

    Raises:
        ConfigError: It is no list of numbers with names.

    Example:
        >>> resources("CPU=2,GPU=1,fast_disk=1")
        {'num_cpus': 2.0, 'num_gpus': 1.0, 'resources': {'fast_disk': 1.0}}
    """
    try:
        pairs = (one.strip().split("=") for one in text.split(","))
        requested = {name: float(number) for name, number in pairs}
    except ValueError:
        raise ConfigError(
            f"{text!r} does not say what a process takes; for example CPU=2,GPU=1"
        ) from None
    cpus, gpus = requested.pop("CPU", 1.0), requested.pop("GPU", 0.0)
    return {"num_cpus": cpus, "num_gpus": gpus, "resources": requested}


def num_cpus(ray: ModuleType) -> int:
    """Return how many processors the nodes offer; at least 1."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def spread(
    function: Callable[..., T],
    calls: Sequence[tuple[Any, ...]],
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[int, T]]:
    """Yield what a function returns for each call, after its index, as they are done.

    A call is made again where its node was lost, so the function must not change anything. Of very
    many calls a few for each processor wait in the cluster, so that it need not hold them all.

    Args:
        function: Makes a call, on a node.
        calls: The arguments of each.
        say: Called with a line about each node that was lost meanwhile.

    Raises:
        Exception: What the function raised first; the calls that are left are given up.
        ClusterUnavailable: A node was lost again and again.
    """
    ray = connect()
    remote = ray.remote(num_cpus=1)(function)
    most, nodes = _WAITING * num_cpus(ray), _alive(ray)
    left = iter(enumerate(calls))
    indices = {remote.remote(*call): index for index, call in islice(left, most)}
    waiting = list(indices)
    try:
        while waiting:
            (done,), waiting = ray.wait(waiting, num_returns=1)
            yield indices.pop(done), ray.get(done)
            for index, call in islice(left, 1):
                another = remote.remote(*call)
                indices[another] = index
                waiting.append(another)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise ClusterUnavailable(f"the Ray cluster lost who did the work: {error}") from error
    finally:
        for call in waiting:
            ray.cancel(call, force=True)
        for node in sorted(nodes.keys() - _alive(ray).keys()):
            say(f"stepwatch: lost node {nodes[node]} ({node[:8]}); others did again what it did")


def spread_in_order(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], say: Callable[[str], None]
) -> Iterator[T]:
    """Yield what a function returns for each call, in their order; else as ``spread``."""
    kept: dict[int, T] = {}
    following = 0
    for index, found in spread(function, calls, say):
        kept[index] = found
        while following in kept:
            yield kept.pop(following)
            following += 1


def _alive(ray: ModuleType) -> dict[str, str]:
    """Return the addresses of the nodes that are there, by their IDs."""
    return {one["NodeID"]: one["NodeManagerAddress"] for one in ray.nodes() if one["Alive"]}
