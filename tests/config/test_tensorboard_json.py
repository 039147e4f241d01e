"""Where TensorBoard's files go: the hook says so, except on SageMaker."""

from __future__ import annotations

import json

import pytest

from stepwatch.errors import ConfigError
from stepwatch_smdebug.config.hook_config import read_hook_config
from tests.support.config.hook_files import read_document


def folder_of(tmp_path, hook):
    """Return the folder that a hook with these settings has."""
    return read_document(tmp_path, {"LocalPath": "/run", "HookParameters": hook}).tensorboard


class TestElsewhere:
    @pytest.mark.parametrize(
        ("hook", "folder"),
        [
            ({}, None),
            ({"export_tensorboard": False}, None),
            ({"export_tensorboard": "true"}, "/run/tensorboard"),
            ({"export_tensorboard": True, "tensorboard_dir": "/board"}, "/board"),
            ({"tensorboard_dir": "/board"}, "/board"),
            ({"tensorboard_dir": None}, None),
        ],
    )
    def test_the_hooks_settings_decide(self, tmp_path, hook, folder):
        """A folder alone is enough; without one the files go below the run."""
        assert folder == folder_of(tmp_path, hook)


class TestOnSageMaker:
    def read(self, tmp_path, hook, board=None):
        """Return the folder on SageMaker, with this TensorBoard configuration."""
        path, other = tmp_path / "hook.json", tmp_path / "board.json"
        path.write_text(json.dumps({"LocalPath": "/run", "HookParameters": hook}))
        if board is not None:
            other.write_text(board)
        variables = {"TRAINING_JOB_NAME": "job", "TENSORBOARD_CONFIG_FILE_PATH": str(other)}
        return read_hook_config(path, variables).tensorboard

    def test_without_its_file_there_is_none(self, tmp_path):
        """Whatever the hook's settings say."""
        assert self.read(tmp_path, {"export_tensorboard": True, "tensorboard_dir": "/b"}) is None

    def test_its_file_decides(self, tmp_path):
        """Whatever the hook's settings say."""
        hook = {"export_tensorboard": "false"}

        assert "/local" == self.read(
            tmp_path, hook, '{"S3OutputPath": "s3://b", "LocalPath": "/local"}'
        )

    def test_without_a_folder_it_is_sagemakers(self, tmp_path):
        """The platform's default place."""
        assert "/opt/ml/output/tensorboard" == self.read(tmp_path, {}, '{"S3OutputPath": "s3://b"}')

    def test_what_is_no_json_is_said(self, tmp_path):
        """A file that cannot be read is an error of the configuration."""
        with pytest.raises(ConfigError, match="json is no JSON"):
            self.read(tmp_path, {}, "{")
