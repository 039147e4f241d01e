"""What people paste from the web to train and debug, run as it stands by the real SDK."""

from __future__ import annotations

import json
import shutil

import pytest
from sagemaker.debugger import CollectionConfig, DebuggerHookConfig, Rule
from sagemaker.mxnet import MXNet
from sagemaker.s3 import S3Uploader
from sagemaker.tensorflow import TensorFlow
from sagemaker.xgboost import XGBoost

import sagemaker
from smdebug.trials import create_trial
from tests.support.compat.pasted import LOAD_ALL, LOAD_SOME
from tests.support.sagemaker.sdk.estimators import COMMON, pytorch
from tests.support.sagemaker.served import BUCKET, ROLE, SCRIPTS

pytestmark = [pytest.mark.sagemaker, pytest.mark.timeout(400)]

#: An answer on the web: hooks on weights and gradients, and a blocking training.
ESTIMATOR = """
from sagemaker.estimator import Estimator
from sagemaker.debugger import DebuggerHookConfig, CollectionConfig

debugger_hook_config = DebuggerHookConfig(
    hook_parameters={"save_interval": "100"},
    collection_configs=[
        CollectionConfig(
            name="weights",
            parameters={"include_regex": ".*weight.*"}
        ),
        CollectionConfig(
            name="gradients",
            parameters={"include_regex": ".*grad.*"}
        ),
    ]
)

estimator = Estimator(
    image_uri="<your_image_uri>",
    role="<your_role>",
    instance_count=1,
    instance_type="ml.m5.xlarge",
    output_path="s3://<your_bucket>/training-output",
    sagemaker_session=<your_sagemaker_session>,
    debugger_hook_config=debugger_hook_config,
    entry_point="train.py"
)

estimator.fit()
"""

#: Another: a script that logs.
LOGGING = """
import sagemaker
from sagemaker.pytorch import PyTorch

# Define the entry point script
entry_point_script = 'example_logging.py'
training_source_dir = 'src'

# Define the estimator
estimator = PyTorch(
    entry_point=entry_point_script,
    source_dir=training_source_dir,
    framework_version='2.0.1',
    py_version='py310',
    instance_type='ml.m5.large',
    instance_count=1,
    role=sagemaker.get_execution_role()
)

estimator.fit()
"""

#: And one that saves tensors by hand.
BY_HAND = """
import sagemaker
from sagemaker.pytorch import PyTorch
from sagemaker.debugger import DebuggerHookConfig, CollectionConfig

# Define the entry point script
entry_point_script = 'debug_tensor_capture.py'
training_source_dir = 'src'

# Define the debugger hook configuration
debugger_config = DebuggerHookConfig(
        hook_parameters={"save_interval": "1"},
        collection_configs=[CollectionConfig(name="output_tensors",
                                            parameters={"include_regex": "epoch"})]
    )

# Define the estimator with debugger configuration
estimator = PyTorch(
    entry_point=entry_point_script,
    source_dir=training_source_dir,
    framework_version='2.0.1',
    py_version='py310',
    instance_type='ml.m5.large',
    instance_count=1,
    role=sagemaker.get_execution_role(),
    debugger_hook_config=debugger_config
)

estimator.fit()
"""


@pytest.fixture
def role(monkeypatch, client):
    """Let ``get_execution_role`` find a role where a notebook instance keeps it.

    It asks AWS otherwise, at an address that nothing changes.
    """
    notes = client / "resource-metadata.json"
    notes.write_text(json.dumps({"ResourceName": "here", "ExecutionRoleArn": ROLE}))
    monkeypatch.setattr("sagemaker.session.NOTEBOOK_METADATA_FILE", str(notes))


@pytest.fixture
def src(client):
    """Scripts in a folder of that name, beside the notebook."""
    shutil.copytree(SCRIPTS, client / "src")
    shutil.copy(SCRIPTS / "train.py", client)


def filled_in(text, output):
    """Return a snippet with its gaps filled in."""
    return (
        text.replace("<your_image_uri>", "my.image/of:mine")
        .replace("<your_role>", ROLE)
        .replace("s3://<your_bucket>/training-output", output)
        .replace("<your_sagemaker_session>", "sagemaker_session")
    )


class TestLoadingWhatAnEstimatorSaved:
    @pytest.fixture
    def trained(self, src, place):
        """An estimator whose ``fit()`` has returned; its output is the whole default bucket."""
        names = {"sagemaker_session": sagemaker.Session()}
        exec(filled_in(ESTIMATOR, f"s3://{BUCKET}"), names)
        return {**names, "place": f"s3://{names['sagemaker_session'].default_bucket()}"}

    def test_all_of_it_and_some_of_it(self, trained, capsys):
        """Worker by worker, tensor by tensor, from the path that the answer builds by hand."""
        exec(LOAD_ALL, trained)
        everything = capsys.readouterr().out
        exec(LOAD_SOME, trained)
        some = capsys.readouterr().out

        assert "Processing node: worker_0" in everything
        assert "Tensor: gradient/Classifier_hidden.weight" in everything
        assert "Step: 0, Shape: (16, 8), Data type: float32" in everything
        assert everything.endswith("Finished loading debugger data\n")
        assert "Tensor: Classifier_hidden.weight, Step: 0, Shape: (16, 8)" in some
        assert "bias" not in some

    def test_a_path_that_leads_nowhere_is_told_of(self, src, place, ended):
        """With an output below a prefix that path is wrong; the error says where a run lies."""
        names = {"sagemaker_session": sagemaker.Session()}
        text = filled_in(ESTIMATOR, f"{place}/training-output").replace("fit()", "fit(wait=False)")
        exec(text, names)
        ended(names["estimator"].latest_training_job.job_name)
        with pytest.raises(FileNotFoundError, match="at its debug-output"):
            exec(LOAD_ALL, {**names, "place": f"s3://{BUCKET}"})


class TestScripts:
    def test_one_that_logs(self, src, role, capsys):
        """Its messages stand in the stream, with both of its outputs; no channel is set."""
        names = {}
        exec(LOGGING, names)
        out = capsys.readouterr().out

        assert "INFO - Starting training process..." in out
        assert "INFO - Epoch 3 completed." in out
        assert "WARNING - Environment variable SM_CHANNEL_TRAINING not set." in out

    def test_it_is_told_of_its_channel(self, src, role, place, ended, capsys):
        """Where inputs are given."""
        S3Uploader.upload_string_as_file_body("data", f"{place}/data/one.txt")
        names = {}
        exec(LOGGING.replace("estimator.fit()", ""), names)
        estimator = names["estimator"]
        estimator.fit(f"{place}/data", wait=False)
        ended(estimator.latest_training_job.name)
        capsys.readouterr()
        estimator.sagemaker_session.logs_for_job(estimator.latest_training_job.name)

        assert "INFO - Training data located at: " in capsys.readouterr().out

    def test_one_that_saves_tensors_by_hand(self, src, role, ended):
        """Each is found by the pattern of its collection, at every step."""
        names = {}
        exec(BY_HAND.replace("fit()", "fit(wait=False)"), names)
        estimator = names["estimator"]
        ended(estimator.latest_training_job.job_name)
        trial = create_trial(estimator.latest_job_debugger_artifacts_path())
        saved = trial.tensor_names(collection="output_tensors")

        assert 300 == len(saved)
        assert "epoch_1_i_1/output_tensor" in saved
        assert 300 == len(trial.steps())
        assert (1, 2) == trial.tensor("epoch_3_i_100/output_tensor").value(299).shape


class TestConfigurations:
    def test_a_key_that_there_is_not_harms_nobody(self, place, ended):
        """The placeholders of the documentation may stand."""
        collection_config = CollectionConfig(name="collection_name", parameters={"key": "value"})
        debugger_hook_config = DebuggerHookConfig(
            s3_output_path=place,
            container_local_output_path="/local/path/for/data/emission",
            hook_parameters={"key": "value"},
            collection_configs=[collection_config],
        )
        estimator = pytorch(
            place, debugger_hook_config=debugger_hook_config, hyperparameters={"steps": 3}
        )
        estimator.fit(wait=False)

        ended(estimator.latest_training_job.name)

    def test_hook_parameters_are_for_all_and_a_collection_overrides(self, place, ended):
        """Every tenth step, and every twentieth."""
        collection_config_1 = CollectionConfig(
            name="collection_name_1", parameters={"include_regex": ".*weight"}
        )
        collection_config_2 = CollectionConfig(
            name="collection_name_2", parameters={"include_regex": ".*bias", "save_interval": "20"}
        )
        debugger_hook_config = DebuggerHookConfig(
            s3_output_path=place,
            container_local_output_path="/local/path/for/data/emission",
            hook_parameters={"save_interval": "10"},
            collection_configs=[collection_config_1, collection_config_2],
        )
        estimator = pytorch(
            place, debugger_hook_config=debugger_hook_config, hyperparameters={"steps": 41}
        )
        estimator.fit(wait=False)
        ended(estimator.latest_training_job.name)
        trial = create_trial(estimator.latest_job_debugger_artifacts_path())
        steps = [
            trial.tensor(trial.tensor_names(collection=name)[0]).steps()
            for name in ("collection_name_1", "collection_name_2")
        ]

        assert [[0, 10, 20, 30, 40], [0, 20, 40]] == steps

    @pytest.mark.parametrize("kind", [TensorFlow, MXNet, XGBoost])
    def test_names_of_the_first_sdk_are_understood(self, place, ended, kind):
        """``train_instance_count`` and its kin, and the rules of the package of their own."""
        from smdebug_rulesconfig import vanishing_gradient, weight_update_ratio

        role, train_instance_type = ROLE, "ml.m4.xlarge"
        versions = {
            TensorFlow: {"framework_version": "2.12", "py_version": "py310"},
            MXNet: {"framework_version": "1.6.0", "py_version": "py3"},
            XGBoost: {"framework_version": "1.7-1", "py_version": "py3"},
        }
        estimator = kind(
            role=role,
            train_instance_count=1,
            train_instance_type=train_instance_type,
            train_volume_size=400,
            train_max_run=3600,
            rules=[Rule.sagemaker(vanishing_gradient()), Rule.sagemaker(weight_update_ratio())],
            entry_point=COMMON["entry_point"],
            source_dir=COMMON["source_dir"],
            output_path=place,
            hyperparameters={"steps": 3},
            **versions[kind],
        )
        estimator.fit(wait=False)
        found = ended(estimator.latest_training_job.name)

        assert (400, "ml.m4.xlarge") == (
            found["ResourceConfig"]["VolumeSizeInGB"], found["ResourceConfig"]["InstanceType"],
        )  # fmt: skip
        assert {"VanishingGradient", "WeightUpdateRatio"} == {
            one["RuleConfigurationName"] for one in estimator.latest_training_job.rule_job_summary()
        }
