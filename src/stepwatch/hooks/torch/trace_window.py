"""Every operation of some steps, by PyTorch's own profiler."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.profiler

from ...config import let_cupti_go
from ...errors import ConfigError
from ..python_window import File
from .ranks import distributed_rank


class TraceWindow:
    """Records operations, and kernels of an accelerator, as Perfetto opens them."""

    name = "torch.profiler"

    def __init__(self) -> None:
        if torch._C._autograd._profiler_enabled():
            raise ConfigError("the script itself is being profiled by torch.profiler")
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            let_cupti_go()
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        self._profiler: Any = torch.profiler.profile(activities=kinds, record_shapes=True)
        self._step: Any = None

    def begin(self, step: int) -> None:
        """Begin before a step."""
        self._profiler.start()
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            # Torch itself tells it of those that are; Holistic Trace Analysis asks for it.
            rank, size = distributed_rank()
            about = {"backend": "none", "rank": rank, "world_size": size}
            self._profiler.add_metadata_json("distributedInfo", json.dumps(about))
        self._enter(step)

    def next(self, step: int) -> None:
        """Another step begins."""
        self._step.__exit__(None, None, None)
        self._enter(step)

    def end(self) -> list[File]:
        """End, and return the trace."""
        self._step.__exit__(None, None, None)
        self._profiler.stop()
        return [(".json.gz", self._export)]

    def _enter(self, step: int) -> None:
        # Who reads traces knows steps by this name.
        self._step = torch.profiler.record_function(f"ProfilerStep#{step}")
        self._step.__enter__()

    def _export(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="stepwatch-") as folder:
            file = Path(folder, "trace.json.gz")
            self._profiler.export_chrome_trace(str(file))
            return file.read_bytes()
