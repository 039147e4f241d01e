# ruff: noqa: E501 - a row is a line
"""What people paste from five pages on the web that teach SageMaker Debugger, and who runs it.

Each row is a call, an import or a habit of one of them: *real* ones work as written there, *old* ones did
in an earlier SDK, *invented* ones never did and work here. Every row is run by a test, most by the real
SDK against our server (``make test-sagemaker``), or stands in ``EXCEPTIONS`` with the reason.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SDK = "tests/sagemaker/sdk/test_sdk_"
COMPAT = "packages/stepwatch-smdebug/tests/test_"

#: Page and row; what it is; the file and the test that runs it.
ROWS = {
    # An answer that loads what an estimator's debugger saved.
    "0.1": ("estimator and configurations are imported", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.2": ("a hook without a path", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.3": ("patterns add to built-in collections", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.4": ("Estimator(image_uri=…, entry_point=…)", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.5": ("estimator.fit()", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.7": ("boto3.client('s3')", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.8": ("create_trial and NoMoreData are imported", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.9": ("create_trial(s3_output_path)", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.10": ("trial.nodes(), invented", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.11": ("trial.tensor_names(node=…), invented", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.12": ("trial.steps(tensor, node=…), invented", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.13": ("trial.tensor(…, step=…, node=…), invented", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.14": ("NoMoreData around a single step", COMPAT + "create_trial_tensors", "test_at_a_step_that_was_not_saved"),
    "0.15": ("latest_training_job.job_name", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    "0.16": ("a path that ends with /output", SDK + "pasted", "test_a_path_that_leads_nowhere_is_told_of"),
    "0.17": ("tensor_names(tensors_regex=…), invented", SDK + "pasted", "test_all_of_it_and_some_of_it"),
    # An answer on logging and on saving by hand.
    "1.1": ("a script that logs", SDK + "pasted", "test_one_that_logs"),
    "1.3": ("SM_CHANNEL_TRAINING", SDK + "pasted", "test_it_is_told_of_its_channel"),
    "1.4": ("PyTorch(source_dir=…, role=get_execution_role())", SDK + "pasted", "test_one_that_logs"),
    "1.5": ("fit() without inputs", SDK + "pasted", "test_one_that_logs"),
    "1.7": ("sagemaker_debugger.save_tensor, invented", SDK + "pasted", "test_one_that_saves_tensors_by_hand"),
    "1.8": ("its training loop", SDK + "pasted", "test_one_that_saves_tensors_by_hand"),
    "1.9": ("a collection of what was saved by hand", SDK + "pasted", "test_one_that_saves_tensors_by_hand"),
    "1.10": ("debugger_hook_config of PyTorch", SDK + "pasted", "test_one_that_saves_tensors_by_hand"),
    "1.11": ("/opt/ml/output/tensors", SDK + "pasted", "test_one_that_saves_tensors_by_hand"),
    # A notebook that watches MXNet train.
    "2.3": ("MXNet(train_instance_count=…), old", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.4": ("configurations are imported", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.5": ("smdebug.mxnet.modes without MXNet", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.6": ("Session().default_bucket()", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.7": ("a collection by pattern and interval", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.8": ("fit(wait=False)", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.9": ("the name of the job", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.10": ("sagemaker_client.describe_training_job", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.11": ("SecondaryStatus is polled", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.13": ("create_trial as soon as it trains", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.14": ("tensor_names(collection=…)", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.15": ("trial.steps() grows", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.16": ("trial.loaded_all_steps", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.17": ("tensor.value(step_num=…, mode=…)", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.18": ("plots while it trains", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    "2.21": ("names of tensors of a Gluon network", SDK + "notebooks", "test_the_notebook_of_debugger_itself"),
    # A page of an old SDK's documentation.
    "3.2": ("DebuggerHookConfig with all of its arguments", SDK + "pasted", "test_hook_parameters_are_for_all_and_a_collection_overrides"),
    "3.3": ("placeholders as names and keys", SDK + "pasted", "test_a_key_that_there_is_not_harms_nobody"),
    "3.4": ("a built-in collection by name", SDK + "estimators", "test_collections_by_pattern_interval_and_range"),
    "3.5": ("a pattern, an interval and a range of steps", SDK + "estimators", "test_collections_by_pattern_interval_and_range"),
    "3.6": ("hook parameters, and a collection overrides", SDK + "pasted", "test_hook_parameters_are_for_all_and_a_collection_overrides"),
    "3.7": ("saved under {prefix}/{job}/debug-output", SDK + "estimators", "test_it_trains_and_its_losses_are_read"),
    "3.8": ("latest_job_debugger_artifacts_path()", SDK + "estimators", "test_it_trains_and_its_losses_are_read"),
    "3.9": ("S3Downloader.list while it trains", SDK + "estimators", "test_its_files_are_listed_and_fetched_while_it_trains"),
    "3.10": ("smdebug_rulesconfig", SDK + "pasted", "test_names_of_the_first_sdk_are_understood"),
    "3.11": ("rules bring what they need", SDK + "rules", "test_a_rule_brings_what_is_saved_for_it"),
    "3.12": ("a customised rule with unknown keys", SDK + "rules", "test_a_parameter_that_a_rule_has_not_is_an_error_of_that_rule"),
    "3.14": ("Rule.custom", SDK + "rules", "test_its_class_is_loaded_from_its_source"),
    "3.15": ("its source is local, or on S3", SDK + "rules", "test_its_class_is_loaded_from_its_source"),
    "3.16": ("TensorBoardOutputConfig", SDK + "estimators", "test_tensorboard_files_are_written_where_it_says"),
    "3.17": ("create_trial(latest_job_debugger_artifacts_path())", SDK + "estimators", "test_it_trains_and_its_losses_are_read"),
    "3.18": ("the hook is on by default, and off on request", SDK + "estimators", "test_the_hook_is_switched_off"),
    "3.19": ("TensorFlow(train_instance_count=…), old", SDK + "pasted", "test_names_of_the_first_sdk_are_understood"),
    # A page on how Debugger is built.
    "4.2": ("metrics of the system", "tests/profile/test_devices", "test_memory_disks_and_networks"),
    "4.3": ("every 500 ms unless told otherwise", SDK + "profiler", "test_it_is_shown_as_it_was_given"),
    "4.4": ("metrics of frameworks", "tests/profile/test_profile_analysis", "test_phases_by_name"),
    "4.5": ("scalars, weights, gradients, inputs, outputs", SDK + "notebooks", "test_the_example_runs_from_its_first_cell_to_its_last"),
    "4.9": ("data go where the user says", SDK + "estimators", "test_it_trains_and_its_losses_are_read"),
    "4.10": ("rules run beside the training", SDK + "rules", "test_each_rule_is_one"),
    "4.11": ("custom rules", SDK + "rules", "test_its_class_is_loaded_from_its_source"),
}  # fmt: skip

#: Rows that no test runs as they stand, and why.
EXCEPTIONS = {
    "2.1": "pip install smdebug: the name on PyPI is another's; ours is stepwatch-smdebug",
    "4.8": "the dashboard of Studio is closed; ours is `stepwatch dash`: tests/browser",
}

#: All rows that are real, old or invented; the others are prose.
PASTED = [
    *(f"0.{row}" for row in (*range(1, 6), *range(7, 18))),
    *(f"1.{row}" for row in (1, 3, 4, 5, *range(7, 12))),
    *(f"2.{row}" for row in (1, *range(3, 12), *range(13, 19), 21)),
    *(f"3.{row}" for row in (*range(2, 13), *range(14, 20))),
    *(f"4.{row}" for row in (2, 3, 4, 5, 8, 9, 10, 11)),
]


@cache
def names_in(file: str) -> set[str]:
    """Return the names of the tests of a file."""
    nodes = ast.walk(ast.parse((ROOT / f"{file}.py").read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_no_row_is_left_out():
    """Each is run by a test, or there is a reason why not."""
    assert sorted(PASTED) == sorted([*ROWS, *EXCEPTIONS])


@pytest.mark.parametrize(("file", "test"), sorted({row[1:] for row in ROWS.values()}))
def test_the_test_of_a_row_is_there(file, test):
    """Under the name that the table has."""
    assert test in names_in(file)
