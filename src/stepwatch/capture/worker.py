"""Which process of a training job this is."""

from __future__ import annotations

from collections.abc import Mapping

# What launchers set: torchrun, then the MPI and Slurm families. SLURM_NTASKS is also set for a
# script that sbatch runs once, SLURM_STEP_NUM_TASKS only for what srun starts.
_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZE = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")


def rank_and_size(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the rank of this process and how many there are; ``(0, 1)`` when launched alone.

    Example:
        >>> rank_and_size({"RANK": "3", "WORLD_SIZE": "8"})
        (3, 8)
    """
    for rank, size in zip(_RANK, _SIZE, strict=True):
        values = (environment.get(rank, ""), environment.get(size, ""))
        if all(value.isdigit() for value in values):
            return int(values[0]), int(values[1])
    return 0, 1


def worker_name(rank: int) -> str:
    """Return the name under which a rank writes."""
    return f"worker_{rank}"
