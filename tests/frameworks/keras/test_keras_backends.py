"""The other backends of Keras keep to the same: the backend is chosen once in a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.framework
TESTS = ("budget", "contract", "hook", "hook_config", "page", "smdebug", "torch_loops")


@pytest.mark.timeout(1800)
@pytest.mark.skipif("KERAS_BACKEND" in os.environ, reason="one is chosen for this process")
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_it_keeps_to_the_same(backend):
    """All that is tested of ``fit`` holds there, too."""
    tests = [str(Path(__file__).with_name(f"test_keras_{name}.py")) for name in TESTS]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "framework", *tests],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == ran.returncode, ran.stdout[-8000:]


# What a script decides of its devices, which may be decided until they are used first.
DECISIONS = {
    "tensorflow": """
import tensorflow as tf
(host,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(host, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.config.threading.set_intra_op_parallelism_threads(2)
assert 2 == len(tf.config.list_logical_devices("CPU"))
""",
    "jax": """
import jax
jax.config.update("jax_num_cpu_devices", 2)
assert 2 == len(jax.devices())
""",
    "torch": """
import torch
torch.set_num_interop_threads(1)
torch.multiprocessing.set_start_method("spawn")
assert not torch.cuda.is_initialized()
""",
}


@pytest.mark.parametrize("backend", DECISIONS)
def test_a_script_may_decide_on_devices_after_keras_is_imported(backend, tmp_path):
    """They are not used before it uses them."""
    (tmp_path / "train.py").write_text(f"import keras\n{DECISIONS[backend]}")
    command = [sys.executable, "-m", "stepwatch", "run", "--run", "run", "train.py"]
    environment = {**os.environ, "KERAS_BACKEND": backend}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert 0 == ran.returncode, ran.stderr[-4000:]
