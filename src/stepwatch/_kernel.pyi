"""What the compiled kernel offers; see _kernel.c."""

from collections.abc import Sequence

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
