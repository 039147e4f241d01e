"""What the compiled kernel offers; see _kernel.c."""

from collections.abc import Callable, Sequence
from typing import Protocol

def summarize(source: object, kind: int, target: object, /) -> bool:
    """Fill a row with the statistics of an array; False, and nothing done, if it cannot be read.

    Args:
        source: ``__array_struct__`` of the array.
        kind: 0 for float32, 1 for float64, 2 for bfloat16, 3 for float16.
        target: ``__array_struct__`` of a contiguous, writable float64 row.

    Raises:
        ValueError: A target that is no such row.
    """

def summarize_tensors(
    api: object,
    classes: tuple[type, ...],
    tensors: tuple[object, ...],
    target: object,
    first: int,
    /,
) -> int:
    """Fill rows with the statistics of tensors; stop at the first that cannot be read as it lies.

    Args:
        api: What the classes have as ``__dlpack_c_exchange_api__``.
        classes: Tensors of these classes are read, and not those of classes derived from them.
        tensors: The tensors.
        target: ``__array_struct__`` of a contiguous, writable float64 matrix.
        first: The row of the first of them.

    Returns:
        How many were read.

    Raises:
        ValueError: A target that is no such matrix, or without room for all of them.
    """

def summarize_numbers(numbers: tuple[float, ...], target: object, first: int, /) -> None:
    """Fill rows with the statistics of one number each.

    Args:
        numbers: The numbers.
        target: As for ``summarize_tensors``.
        first: The row of the first of them.

    Raises:
        ValueError: As for ``summarize_tensors``.
    """

def use_threads(*functions: int) -> None:
    """Let threads of an OpenMP library help the calling thread in ``summarize``, or no longer.

    Args:
        functions: The addresses of ``GOMP_parallel``, ``omp_get_thread_num``,
            ``omp_get_num_threads`` and ``omp_in_parallel``; or none, to be helped no longer.
    """

def count_exponents(source: object, kind: int, target: object, /) -> bool:
    """Fill a row with a histogram of exponents; False, and nothing done, if it cannot be read.

    Args:
        source: ``__array_struct__`` of the array.
        kind: As for ``summarize``.
        target: ``__array_struct__`` of a contiguous, writable int64 row.

    Raises:
        ValueError: A target that is no such row.
    """

def digest(source: object, start: int, /) -> int | None:
    """Return the digest of an array; ``None`` if it cannot be read; large ones without the GIL.

    Args:
        source: ``__array_struct__`` of the array, contiguous in C order.
        start: Which element of the tensor the first of them is.
    """

def digest_rows(source: object, target: object, /) -> bool:
    """Fill a row with the digest of each ``source[i]``; False if it cannot be read.

    Args:
        source: ``__array_struct__`` of the array, contiguous in C order, of one axis or more.
        target: ``__array_struct__`` of a contiguous, writable uint64 row of as many elements.

    Raises:
        ValueError: A target that is no such row.
    """

def crc32c(data: object, start: int = 0, portable: bool = False, /) -> int:
    """Return the CRC-32C (Castagnoli) of some bytes; large ones without the GIL.

    Args:
        data: ``bytes``, what can be copied to such, or ``__array_struct__`` of a contiguous array
            that nobody changes meanwhile.
        start: The checksum of the bytes that come before.
        portable: Leave out the instruction that a processor may have for it, for tests.

    Raises:
        ValueError: An array that is not contiguous.
    """

def write_files(
    files: Sequence[tuple[bytes, bytes, bytes]], mode: int = 0o666, /
) -> tuple[int, int]:
    """Write files in order, without the GIL; folders are made where there are none.

    Not on Windows.

    Args:
        files: Of each, the hidden name under which it is written first, its path, and its bytes.
        mode: Who may read and write them, less the umask; who may read may look into folders.

    Returns:
        How many were written and, if not all, the errno of the next one, else 0.

    Raises:
        TypeError: No such tuples; nothing is written.
        ValueError: A zero character in a path; nothing is written.
    """

class _Owner(Protocol):
    def gives_back(self) -> None:
        """An event came that was not due: take what there is of the step, and go on with it."""

    def has_ended(self) -> None:
        """A step was over, and the next one may not be followed."""

class StepMatcher:
    """Follows steps of a training whose events are those of a step before, in the same order.

    Not on Windows. It follows the thread that called ``follow``; of all others nothing is compared.

    Args:
        tensor_class: The class of losses and gradients; of no class derived from it.
        is_grad_enabled: Returns whether gradients will be computed.
        tracing_state: Returns ``None`` where what runs is not recorded.
        task_id: Returns -1 where no gradients are being computed.
        frame_of: ``sys._getframe``.
        dlpack: What the class of tensors has as ``__dlpack_c_exchange_api__``.
    """

    def __new__(
        cls,
        tensor_class: type,
        is_grad_enabled: Callable[[], bool],
        tracing_state: Callable[[], object],
        task_id: Callable[[], int],
        frame_of: Callable[[int], object],
        dlpack: object,
        /,
    ) -> StepMatcher: ...
    @property
    def is_active(self) -> bool:
        """Whether steps are followed."""

    def learn(self, owner: _Owner, events: tuple[tuple[object, ...], ...], /) -> None:
        """Learn which events a step has, in their order.

        Args:
            owner: Is told where steps are not followed any more.
            events: Of each its kind, an ``EventKind``; a weak reference to the model or optimizer,
                or the code that computes a loss; the name and dtype of a loss; the instruction in
                that code, or the number of an optimizer's groups; how many frames out of what calls
                the source the code runs; and in which group the parameter is of which the gradient
                is looked at, and where there, -1 for none.

        Raises:
            TypeError: No such tuples.
            ValueError: No such events.
        """

    def follow(
        self,
        most_steps: int,
        mean_loss: float,
        most_loss: float,
        weight: float,
        most_s: float,
        conditions: tuple[tuple[object, str, object], ...],
        /,
    ) -> None:
        """Follow steps from here on.

        Args:
            most_steps: So many, at most 64.
            mean_loss: The mean of the losses so far, each of which counts ``weight`` in it.
            most_loss: Where the mean is above it, the next step is not followed.
            weight: See ``mean_loss``.
            most_s: Nor is it where so many seconds are over.
            conditions: Nor where an attribute of an object does not have this value any more.

        Raises:
            ValueError: No events are known.
        """

    def take(
        self,
    ) -> tuple[list[tuple[int, tuple[float, ...]]], int, tuple[float, ...], float, float]:
        """Stop to follow steps.

        Returns:
            When each step ended, nanoseconds since the Unix epoch, and its numbers: losses, and the
            learning rates of optimizers, in the order of the events; of a step that is not over,
            how many events there were, and their numbers; the mean loss; and what all took,
            seconds.
        """

class EventSource:
    """What a framework calls for an event.

    Args:
        kind: An ``EventKind``.
        subscribers: Who is told of it in such steps; where nobody is, nothing is done in them.
        function: Is called where the event is not followed.
        matcher: Follows the steps.
    """

    def __new__(
        cls,
        kind: int,
        subscribers: list[Callable[..., object]],
        function: Callable[..., object],
        matcher: StepMatcher,
        /,
    ) -> EventSource: ...
    def __call__(self, *carried: object, **named: object) -> None: ...
