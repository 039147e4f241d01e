"""Rules on where the time of a run goes, and what its machines do: they judge its profile."""

#: All of them; those of SageMaker Debugger.
PROFILE_RULES = (
    "batch_size",
    "cpu_bottleneck",
    "dataloader",
    "gpu_memory_increase",
    "io_bottleneck",
    "load_balancing",
    "low_gpu_utilization",
    "max_initialization_time",
    "overall_framework_metrics",
    "overall_system_usage",
    "step_outlier",
)
