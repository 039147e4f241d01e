"""Files of a step on S3, by smdebug's own names."""

from __future__ import annotations

import numpy as np
import pytest

from smdebug.core.access_layer import TSAccessS3, has_training_ended, training_has_ended
from smdebug.core.access_layer.s3handler import (
    DeleteRequest,
    ListRequest,
    ReadObjectRequest,
    S3Handler,
)
from smdebug.core.index_reader import S3IndexReader
from smdebug.core.s3_utils import list_s3_objects
from smdebug.core.writer import FileWriter
from smdebug.exceptions import SMDebugError, SMDebugTypeError
from tests.support.s3.s3_bucket import bucket, s3

__all__ = ["bucket", "s3"]

pytestmark = pytest.mark.s3


@pytest.fixture
def folder(bucket):
    """Return a prefix with a few objects in it."""
    for key in ("a/1", "a/2", "b/3", "top"):
        with TSAccessS3(bucket.bucket, f"smd//{key}", binary=False) as one:
            one.write(f"the text of {key}")
    return bucket.bucket


class TestAccessLayer:
    def test_objects_are_listed_as_boto3_lists_them(self, folder):
        """By prefix, behind a key, and by folders."""
        one, behind, folders = S3Handler.list_prefixes(
            [
                ListRequest(folder, "smd/a/"),
                ListRequest(folder, "smd/", StartAfter="smd/a/2"),
                ListRequest(folder, "smd/", Delimiter="/"),
            ]
        )

        assert ["smd/a/1", "smd/a/2"] == one
        assert ["smd/b/3", "smd/top"] == behind
        assert ["smd/a/", "smd/b/", "smd/top"] == folders
        assert (["smd/b/3"], "smd/b/3") == list_s3_objects(folder, "smd/b")

    def test_parts_of_objects_are_read(self, folder):
        """One that is not there is None."""
        path = f"s3://{folder}/smd/a/1"
        requests = [
            ReadObjectRequest(path),
            ReadObjectRequest(path, 4, 4),
            ReadObjectRequest(path, 12),
            ReadObjectRequest(f"s3://{folder}/smd/none"),
        ]

        assert [b"the text of a/1", b"text", b"a/1", None] == S3Handler.get_objects(requests)

    def test_what_is_deleted_is_gone(self, folder):
        S3Handler.delete_prefix(f"s3://{folder}/smd/a")
        S3Handler.delete_prefix(delete_request=DeleteRequest(folder, "smd/b"))

        assert ["smd/top"] == S3Handler.list_prefix(ListRequest(folder, "smd/"))

    def test_what_is_asked_wrongly_is_refused(self, folder):
        with pytest.raises(SMDebugTypeError):
            S3Handler.get_objects(ReadObjectRequest(f"s3://{folder}/smd/top"))
        with pytest.raises(SMDebugError, match="does not lie on S3"):
            S3Handler.delete_prefix("/tmp/run")
        with pytest.raises(SMDebugError):
            S3Handler.list_prefix(ListRequest("no-such-bucket-of-anyone", "x"))


def test_what_a_writer_wrote_is_read(bucket):
    """By index readers, from S3 too."""
    path = f"s3://{bucket.bucket}/smd-run"
    for step in (0, 5):
        with FileWriter(path, "worker_0", step) as writer:
            writer.write_tensor(np.float32([step, 1]), "w")
    assert not has_training_ended(path)
    training_has_ended(path)
    reader = S3IndexReader(path)
    data, token = reader.load_tensor_data_from_index_files()

    assert [0, 5] == list(data["w"])
    assert ({}, None) == reader.load_tensor_data_from_index_files(token)
    where = data["w"][5]["worker_0"]["tensor_location"]
    assert [5.0, 1.0] == reader.fetch_tensor_value(where).tolist()
    assert has_training_ended(path)
    assert str(token).startswith("smd-run/index/")
