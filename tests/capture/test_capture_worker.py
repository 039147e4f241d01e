"""Which process of a training job this is."""

from __future__ import annotations

import pytest

from stepwatch.capture.lifecycle import rank_and_size, worker_name


class TestWorker:
    @pytest.mark.parametrize(
        ("environment", "expected"),
        [
            ({}, (0, 1)),
            ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)),
            ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2)),
            ({"PMI_RANK": "1", "PMI_SIZE": "4"}, (1, 4)),
            ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"}, (5, 6)),
            # sbatch runs the script once, however many tasks it has room for.
            ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, (0, 1)),
            # torchrun under srun: the inner launcher knows.
            ({"RANK": "7", "WORLD_SIZE": "16", "SLURM_PROCID": "0",
              "SLURM_STEP_NUM_TASKS": "2"}, (7, 16)),
            ({"RANK": "3"}, (0, 1)),
            ({"RANK": "-1", "WORLD_SIZE": "x"}, (0, 1)),
        ],
    )  # fmt: skip
    def test_is_what_the_launcher_says(self, environment, expected):
        """Alone where none says so."""
        assert expected == rank_and_size(environment)

    def test_the_name_has_the_rank(self):
        """As parts and notes are called."""
        assert "worker_12" == worker_name(12)
