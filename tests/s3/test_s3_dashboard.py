"""The dashboard over runs in a bucket."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from stepwatch.dashboard.app import make_app
from tests.support.looked_at import judge, make_looked_at, told
from tests.support.s3.s3_bucket import bucket, s3

__all__ = ["bucket", "s3"]

pytestmark = [pytest.mark.s3, pytest.mark.timeout(60)]


def test_runs_in_a_bucket_are_listed_judged_and_drawn(bucket):
    """As in a folder: the table, the verdict, the losses, a value at a step."""
    place = f"s3://{bucket.bucket}/runs"
    make_looked_at(f"{place}/healthy")
    judge(make_looked_at(f"{place}/deep/faulty", broken_from=6))

    with TestClient(make_app(place), base_url="http://localhost:6460") as client:
        while (table := told(client.get("/api/runs")))["pending"]:
            pass
        about = told(client.get("/api/run", params={"run": "deep/faulty"}))
        losses = told(client.get("/api/scalars", params={"run": "healthy"}))
        of_tensor = {"run": "healthy", "name": "fc.weight", "step": "2"}
        value = told(client.get("/api/value", params=of_tensor))

    assert {"healthy", "deep/faulty"} == {run["name"] for run in table["runs"]}
    assert ("error", 2) == (about["health"]["tone"], about["findings"])
    assert "loss/mse" == losses["lines"][0]["name"]
    assert value["shape"] == [len(value["cells"]), len(value["cells"][0])]
