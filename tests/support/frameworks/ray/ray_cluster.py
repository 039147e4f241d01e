"""Ray clusters of several nodes on this machine; imported by name."""

from __future__ import annotations

import pytest
import ray
from ray.cluster_utils import Cluster


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one processor each."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    made.wait_for_nodes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", made.address)
        yield made
    ray.shutdown()
    made.shutdown()
