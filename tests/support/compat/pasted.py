# ruff: noqa: E501 - what was pasted stays as it stands
"""Snippets that are pasted from the web; imported by name."""

from __future__ import annotations

#: Reads all of a run, worker by worker and step by step, as an answer on the web has it.
LOAD_ALL = """
import boto3
from smdebug.trials import create_trial
from smdebug.exceptions import NoMoreData

def load_debugger_data(training_job_name, s3_output_path):
    s3_client = boto3.client('s3')
    trial = create_trial(s3_output_path) # Uses smdebug under the hood to parse the data.

    for node_name in trial.nodes(): # Each node represents a worker in a distributed training job.
        print(f"Processing node: {node_name}")
        for t in trial.tensor_names(node=node_name):
          try:
              print(f"Tensor: {t}")
              for step_idx in trial.steps(t, node=node_name):
                try:
                   tensor_data = trial.tensor(t, step=step_idx, node=node_name)
                   print(f"Step: {step_idx}, Shape: {tensor_data.shape}, Data type: {tensor_data.dtype}")

                except NoMoreData:
                   pass  # No more data for that specific step.
          except NoMoreData:
              pass

    print("Finished loading debugger data")


training_job_name = estimator.latest_training_job.job_name # Example use after training
load_debugger_data(training_job_name, f"{place}/{training_job_name}/output")
"""

#: The same for the tensors that a pattern finds.
LOAD_SOME = """
import boto3
from smdebug.trials import create_trial
from smdebug.exceptions import NoMoreData

def load_filtered_debugger_data(training_job_name, s3_output_path, tensor_regex):

    trial = create_trial(s3_output_path)
    filtered_tensors = trial.tensor_names(tensors_regex=tensor_regex)
    print(f"Found tensors matching '{tensor_regex}': {filtered_tensors}")

    for tensor_name in filtered_tensors:
       for node_name in trial.nodes():
           for step_idx in trial.steps(tensor_name, node=node_name):
             try:
                tensor_data = trial.tensor(tensor_name, step=step_idx, node=node_name)
                print(f"Tensor: {tensor_name}, Step: {step_idx}, Shape: {tensor_data.shape}, Data type: {tensor_data.dtype}")
             except NoMoreData:
               pass

    print("Finished loading filtered debugger data")

training_job_name = estimator.latest_training_job.job_name # Example use after training
load_filtered_debugger_data(training_job_name, f"{place}/{training_job_name}/output", ".*weight.*") # Loads only tensors containing 'weight'
"""

#: The analysis of a notebook that watches a training, cell by cell.
NOTEBOOK = """
import time
import sys
from time import gmtime, strftime
from smdebug.mxnet import modes

def print_same_line(s):
    sys.stdout.write('\\r{}: {}'.format(strftime('%X', gmtime()), s))
    sys.stdout.flush()

import numpy as np
import matplotlib.pyplot as plt

def get_data(trial, tname, batch_index, steps_range, mode=modes.GLOBAL):
    tensor = trial.tensor(tname)
    vals = []
    for s in steps_range:
        val = tensor.value(step_num=s, mode=mode)[batch_index][0]
        vals.append(val)
    return vals

def create_plots(steps_range):
    fig, axs = plt.subplots(nrows=1, ncols=len(steps_range), constrained_layout=True, figsize=(2*len(steps_range), 2),
                            subplot_kw={'xticks': [], 'yticks': []})
    return fig, axs

def plot_tensors(trial, layer, batch_index, steps_range):
    if len(steps_range) > 0:
        fig, axs = create_plots(steps_range)
        vals = get_data(trial, layer, batch_index, steps_range)

        for ax, image, step in zip(axs.flat if isinstance(axs, np.ndarray) else np.array([axs]), vals, steps_range):
            ax.imshow(image, cmap='gray')
            ax.set_title(str(step))
        plt.show()

import os
from urllib.parse import urlparse
from smdebug.trials import create_trial

# this is where we create a Trial object that allows access to saved tensors
trial = create_trial(sagemaker_simple_estimator.latest_job_debugger_artifacts_path())

# inspect tensors saved in conv0_tensors collection (for conv0 layer of our model)
names = trial.tensor_names(collection="conv0_tensors")

batch_index = 0
layer = 'conv0_output_0'

steps = 0
while steps == 0:
    steps = trial.steps()
    print_same_line('Waiting for tensors to become available...')
    time.sleep(3)
print('\\nDone')

print('Getting tensors and plotting...')
rendered_steps = []

loaded_all_steps = False
while not loaded_all_steps:
    loaded_all_steps = trial.loaded_all_steps
    steps = trial.steps()
    # quick way to get diff between two lists
    steps_to_render = list(set(steps).symmetric_difference(set(rendered_steps)))
    # plot only tensors from newer chunk
    plot_tensors(trial, layer, batch_index, steps_to_render)
    rendered_steps.extend(steps_to_render)
    time.sleep(5)
print('\\nDone')

layer = 'conv0_weight'

steps = trial.tensor(layer).steps()
for i in range(0, trial.tensor(layer).value(step_num=steps[0]).shape[0]):
    plot_tensors(trial, layer, i, trial.tensor(layer).steps())
"""
