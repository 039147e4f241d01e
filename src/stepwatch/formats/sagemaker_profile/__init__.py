"""Profiles as SageMaker's platform and smdebug leave them.

    system/incremental/<hour>/<minute>.<node>.json                    readings, an object a line
    framework/pevents/<hour>/<end in µs>_<node id>_<suffix>           intervals, a Chrome trace
    framework/<node id>_<suffix>.tmp                                  the same, still being written
    framework/tensorflow/detailed_profiling/<hour>/<step>/...         traces of TensorFlow

They are read into the tables of ``formats.profile``. Nothing here is written.
"""

from .reader import SageMakerProfileReader

__all__ = ["SageMakerProfileReader"]
