"""``stepwatch run --tensorboard``."""

from __future__ import annotations

import os

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


class TestTensorboard:
    def test_the_losses_that_the_script_prints_are_shown(self, write, stepwatch, tmp_path):
        """Of every step, in the folder that was asked for, wherever the script goes."""
        script = write("import os; os.chdir('/'); train(5)\n")
        result = stepwatch("run", "--run", "run", "--tensorboard", "board", script)
        printed = [float(line.split()[-1]) for line in result.stdout.splitlines()]
        read = EventAccumulator(os.fspath(tmp_path / "board" / "TRAIN")).Reload()

        assert 5 == len(printed)
        assert printed == [point.value for point in read.Scalars("loss/mse_loss")]

    def test_a_place_that_cannot_be_written_to_is_told_before_training(self, write, refused):
        """Nothing runs."""
        script = write("train(1)\n")

        assert "cannot write" in refused(
            "run", "--run", "run", "--tensorboard", f"{script}/board", script
        )
