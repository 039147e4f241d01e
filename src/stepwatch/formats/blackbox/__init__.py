"""The black box: the last moments of a training, in a file that outlives its process."""

from .frames import Frame, read_frames, step_records
from .place import dump_key, dumps, is_ring, open_ring, remove_ring

__all__ = [
    "Frame",
    "dump_key",
    "dumps",
    "is_ring",
    "open_ring",
    "read_frames",
    "remove_ring",
    "step_records",
]
