"""Names and limits of smdebug's profiler."""

from __future__ import annotations

# Where the configuration lies, and what it leaves out.
CONFIG_PATH_DEFAULT = "/opt/ml/input/config/profilerconfig.json"
BASE_FOLDER_DEFAULT = "/opt/ml/output/profiler"
MAX_FILE_SIZE_DEFAULT = 10_485_760  # bytes
CLOSE_FILE_INTERVAL_DEFAULT = 60  # seconds
FILE_OPEN_FAIL_THRESHOLD_DEFAULT = 50
PYTHON_PROFILING_START_STEP_DEFAULT = 9
PROFILING_NUM_STEPS_DEFAULT = 1
PROFILER_DURATION_DEFAULT = float("inf")

# The files of a profile: PREFIX/FOLDER_OF_THE_HOUR/TIME_NODE_SUFFIX.
DEFAULT_PREFIX = "framework/pevents"
DEFAULT_SYSTEM_PROFILER_PREFIX = "system"
TRACE_DIRECTORY_FORMAT = "%Y%m%d%H"
PYTHONTIMELINE_SUFFIX = "pythontimeline.json"
MODELTIMELINE_SUFFIX = "model_timeline.json"
TENSORBOARDTIMELINE_SUFFIX = "trace.json.gz"
HOROVODTIMELINE_SUFFIX = "horovod_timeline.json"
SMDATAPARALLELTIMELINE_SUFFIX = "smdataparallel_timeline.json"
MERGEDTIMELINE_SUFFIX = "merged_timeline.json"

# Events of data loaders.
PT_DATALOADER_WORKER = "DataLoaderWorker"
PT_DATALOADER_ITER = "DataLoaderIter"
PT_DATALOADER_INITIALIZE = "DataLoaderIterInitialize"
TF_DATALOADER_ITER = "DataIterator"
TF_DATALOADER_START_FLAG_FILENAME = "tf_dataloader_start_flag.tmp"
TF_DATALOADER_END_FLAG_FILENAME = "tf_dataloader_end_flag.tmp"
TF_METRICS_PREFIX = "aws_marker-"

# Profiles of Python.
CPROFILE_NAME = "cprofile"
CPROFILE_STATS_FILENAME = "python_stats"
PYINSTRUMENT_NAME = "pyinstrument"
PYINSTRUMENT_JSON_FILENAME = "python_stats.json"
PYINSTRUMENT_HTML_FILENAME = "python_stats.html"

CONVERT_TO_MICROSECS = 1_000_000
CONVERT_MICRO_TO_NS = 1000

# How far around a time files are read, and how far behind the newest one the next listing begins,
# in microseconds. Here every query reads what is there, so neither has an effect.
ENV_TIME_BUFFER = "TIME_BUFFER_MICROSECONDS"
TIME_BUFFER_DEFAULT = 3 * 60 * CONVERT_TO_MICROSECS
ENV_TRAIILING_DURATION = "TRAILING_DURATION_MICROSECONDS"
TRAILING_DURATION_DEFAULT = 5 * 60 * CONVERT_TO_MICROSECS
