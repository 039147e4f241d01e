"""What the compiled kernel offers; see _kernel.c."""

def summarize(source: object, kind: int, target: object, /) -> bool:
    """Fill a row with the statistics of an array; False, and nothing done, if it cannot be read.

    Args:
        source: ``__array_struct__`` of the array.
        kind: 0 for float32, 1 for float64, 2 for bfloat16, 3 for float16.
        target: ``__array_struct__`` of a contiguous, writable float64 row.

    Raises:
        ValueError: A target that is no such row.
    """

def crc32c(data: bytes | bytearray | memoryview, portable: bool = False, /) -> int:
    """Return the CRC-32C (Castagnoli) of some bytes; large ones without the GIL.

    Args:
        data: Contiguous; what is not ``bytes`` is copied.
        portable: Leave out the instruction that a processor may have for it, for tests.
    """
