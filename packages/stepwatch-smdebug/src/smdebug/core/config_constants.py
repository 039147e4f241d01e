"""Names of files, variables and keys of configurations, as smdebug has them."""

from __future__ import annotations

from . import environment
from .json_config import CONFIG_FILE_PATH_ENV_STR as CONFIG_FILE_PATH_ENV_STR
from .json_config import DEFAULT_RESOURCE_CONFIG_FILE as DEFAULT_RESOURCE_CONFIG_FILE
from .json_config import DEFAULT_WORKER_NAME as DEFAULT_WORKER_NAME

# Where SageMaker puts the configuration of a hook, and what names another place.
DEFAULT_CONFIG_FILE_PATH = "/opt/ml/input/config/debughookconfig.json"
TENSORBOARD_CONFIG_FILE_PATH_ENV_STR = "TENSORBOARD_CONFIG_FILE_PATH"
DEFAULT_SAGEMAKER_TENSORBOARD_PATH = "/opt/ml/input/config/tensorboardoutputconfig.json"
DEFAULT_SAGEMAKER_OUTDIR = "/opt/ml/output/tensors"
DEFAULT_SAGEMAKER_METRICS_PATH = "SAGEMAKER_METRICS_DIRECTORY"

# The keys of that configuration.
CONFIG_OUTDIR_KEY = "LocalPath"
CONFIG_HOOK_PARAMS_KEY = "HookParameters"
CONFIG_COLLECTION_CONFIG_KEY = "CollectionConfigurations"
CONFIG_COLLECTION_NAME_KEY = "CollectionName"
CONFIG_COLLECTION_PARAMS_KEY = "CollectionParameters"
CONFIG_REDUCTION_CONFIGS_KEY = "reduction_configs"
CONFIG_RDN_CFG_KEY = "reduction_config"
CONFIG_SAVE_CONFIGS_KEY = "save_configs"
CONFIG_SAVE_ALL_KEY = "save_all"
CONFIG_DRYRUN_KEY = "dry_run"
CONFIG_INCLUDE_REGEX_KEY = "include_regex"
CONFIG_INCLUDE_WORKERS_KEY = "include_workers"
EXPORT_TENSORBOARD_KEY = "export_tensorboard"
TENSORBOARD_DIR_KEY = "tensorboard_dir"
DEFAULT_SAVED_COLLECTIONS = ["losses"]

# Files of a run.
CLAIM_FILENAME = "claim.smd"
DEFAULT_COLLECTIONS_FILE_NAME = f"{DEFAULT_WORKER_NAME}_collections.json"

# Where a training that is resumed finds what its hook had done.
CHECKPOINT_CONFIG_FILE_PATH_ENV_VAR = "CHECKPOINT_CONFIG_FILE_PATH"
DEFAULT_CHECKPOINT_CONFIG_FILE = "/opt/ml/input/config/checkpointconfig.json"
CHECKPOINT_DIR_KEY = "LocalPath"
METADATA_FILENAME = "metadata.json"
METADATA_FILENAME_S3_UPLOADED = f"{METADATA_FILENAME}.sagemaker-uploaded"
LATEST_GLOBAL_STEP_SEEN = "latest-global-step-seen"
LATEST_GLOBAL_STEP_SAVED = "latest-global-step-saved"
LATEST_MODE_STEP = "latest-mode-step"
TRAINING_RUN = "training-run"

# How a trial waits.
INCOMPLETE_STEP_WAIT_WINDOW_KEY = environment.INCOMPLETE_WINDOW
INCOMPLETE_STEP_WAIT_WINDOW_DEFAULT = 1000
MISSING_EVENT_FILE_RETRY_LIMIT_KEY = environment.MISSING_FILE_LIMIT
MISSING_EVENT_FILE_RETRY_LIMIT = 100
TRAINING_END_DELAY_REFRESH_KEY = environment.END_DELAY
TRAINING_END_DELAY_REFRESH_DEFAULT = 1

# Of no effect here.
LOG_DUPLICATION_THRESHOLD = 3
CALLABLE_CACHE_ENV_VAR = "SMDEBUG_KERAS_CALLABLE_CACHE_TYPE"
DEFAULT_CALLABLE_CACHE = "CACHE_PER_MODE"
PAPERMILL_EXECUTION_ENV_VAR = "PAPERMILL_EXECUTION"
PROFILER_REPORT_VERSION = "profiler_report_v1"
PROFILER_TELEMETRY_URL = "https://sm-profiler-report-{region}.s3.{region}.amazonaws.com"
