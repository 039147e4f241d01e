# ruff: noqa: E501 - what was pasted stays as it stands
"""Notebooks that watch a training while it goes on, cell by cell, with their plots."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import matplotlib
import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.compat.pasted import NOTEBOOK
from tests.support.sagemaker.served import ROLE, pythons, serve

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(600)]

EXAMPLES = Path(__file__).parents[3] / "examples"
PNG = b"\x89PNG\r\n\x1a\n"

#: What comes before the analysis in a notebook that SageMaker's users share.
TRAINING = """
import sagemaker
import boto3
import os
import sagemaker

from sagemaker.mxnet import MXNet
from sagemaker.debugger import rule_configs, DebuggerHookConfig, CollectionConfig
from smdebug.mxnet import modes

sagemaker_session = sagemaker.Session()

entry_point_script = './scripts/mnist_gluon_realtime_visualize_demo.py'
hyperparameters = {'batch-size': 256, 'learning_rate': 0.1, 'epochs': 10}
base_job_name = 'mxnet-realtime-analysis-example'

# Make sure to set this to your bucket and location
BUCKET_NAME = sagemaker_session.default_bucket()
LOCATION_IN_BUCKET = 'smdebug-real-time-demo'

s3_bucket_for_tensors = 's3://{BUCKET_NAME}/{LOCATION_IN_BUCKET}'.format(BUCKET_NAME=BUCKET_NAME, LOCATION_IN_BUCKET=LOCATION_IN_BUCKET)

sagemaker_simple_estimator = MXNet(
    role=sagemaker.get_execution_role(),
    base_job_name=base_job_name,
    train_instance_count=1,
    train_instance_type='ml.m4.xlarge',
    train_volume_size=400,
    entry_point=entry_point_script,
    hyperparameters=hyperparameters,
    framework_version='1.6.0',
    py_version='py3',
    train_max_run=3600,
    sagemaker_session=sagemaker_session,
    debugger_hook_config = DebuggerHookConfig(
        s3_output_path=s3_bucket_for_tensors,  # Required
        collection_configs=[
            CollectionConfig(
                name="conv0_tensors",
                parameters={
                    "include_regex": "conv0.*",
                    "save_interval": "100"
                }
            )
        ]
    )
)

# This is a fire and forget event. By setting wait=False, we just submit the job to run in the background.
# SageMaker will spin off one training job and release control to next cells in the notebook.
# Please follow this notebook to see status of the training job.
sagemaker_simple_estimator.fit(wait=False)

# some helper method first, to render status status updates
import time
import sys
from time import gmtime, strftime

def print_same_line(s):
    sys.stdout.write('\\r{}: {}'.format(strftime('%X', gmtime()), s))
    sys.stdout.flush()

# Below command will give the status of training job
# Note: In the output of below command you will see DebugConfig parameter
# which describes what, where and how debugging data is to be collected
job_name = sagemaker_simple_estimator.latest_training_job.name
print('Training job name: ' + job_name)

client = sagemaker_simple_estimator.sagemaker_session.sagemaker_client

description = client.describe_training_job(TrainingJobName=job_name)

if description['TrainingJobStatus'] != 'Completed':
    while description['SecondaryStatus'] not in {'Training', 'Completed'}:
        description = client.describe_training_job(TrainingJobName=job_name)
        primary_status = description['TrainingJobStatus']
        secondary_status = description['SecondaryStatus']
        print_same_line('Current job status: [PrimaryStatus: {}, SecondaryStatus: {}]'.format(primary_status, secondary_status))
        time.sleep(15)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One that trains what asks for MXNet with the Python of MXNet."""
    yield from serve(tmp_path_factory.mktemp("server"), *pythons("mxnet"))


def pictures(notebook):
    """Return the images in the outputs of a notebook, PNG."""
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", [])]
    data = [one["data"]["image/png"] for one in outputs if "image/png" in one.get("data", {})]
    return [base64.b64decode(one) for one in data]


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_the_example_runs_from_its_first_cell_to_its_last(client, framework):
    """Steps are drawn while they come, then every filter."""
    shutil.copytree(EXAMPLES / "scripts", client / "scripts")
    notebook = nbformat.read(EXAMPLES / "realtime.ipynb", as_version=4)
    (told,) = [one for one in notebook.cells if "parameters" in one.metadata.get("tags", ())]
    told.source = f'framework = "{framework}"'
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(client)}}).execute()
    drawn = pictures(notebook)

    assert 7 <= len(drawn), "one at least while it trains, and six filters"
    assert all(one.startswith(PNG) and len(one) > 1000 for one in drawn)


def test_the_notebook_of_debugger_itself(client, monkeypatch, capsys):
    """On real MXNet, as it was published: its names, its loops, its plots."""
    matplotlib.use("agg")
    (client / "resource-metadata.json").write_text(f'{{"ExecutionRoleArn": "{ROLE}"}}')
    monkeypatch.setattr(
        "sagemaker.session.NOTEBOOK_METADATA_FILE", str(client / "resource-metadata.json")
    )
    scripts = client / "scripts"
    scripts.mkdir()
    shapes, train = (
        (EXAMPLES / "scripts" / name).read_text() for name in ("shapes.py", "train_mxnet.py")
    )
    (scripts / "mnist_gluon_realtime_visualize_demo.py").write_text(
        train.replace("from shapes import draw\n", shapes)  # one file alone is uploaded
    )
    drawn = []
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: drawn.append(pixels()))
    names = {}
    exec(TRAINING.replace("time.sleep(15)", "time.sleep(1)"), names)
    exec(NOTEBOOK.replace("time.sleep(5)", "time.sleep(1)"), names)

    assert names["job_name"].startswith("mxnet-realtime-analysis-example-20")
    assert [
        "conv0_bias", "conv0_input_0", "conv0_output_0", "conv0_relu_input_0",
        "conv0_relu_output_0", "conv0_weight", "gradient/conv0_bias", "gradient/conv0_weight",
    ] == names["names"]  # fmt: skip
    assert [0, 100, 200, 300, 400] == sorted(names["rendered_steps"])
    assert 6 + 1 <= len(drawn)
    assert all(one.std() > 0 for one in drawn)
    assert "Training job name: " + names["job_name"] in capsys.readouterr().out


def pixels():
    """Return the present figure as it is drawn, and close it."""
    import matplotlib.pyplot as plt
    import numpy as np

    figure = plt.gcf()
    figure.canvas.draw()
    drawn = np.asarray(figure.canvas.buffer_rgba())
    plt.close(figure)
    return drawn
