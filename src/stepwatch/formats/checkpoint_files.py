"""Reads the tensors of checkpoints: PyTorch, safetensors, folders of transformers, Keras.

No code from a file is run. PyTorch's files are pickles, of which ``torch.load`` reads tensors and
plain values with ``weights_only=True``; one that needs more is refused. Values are read one tensor
at a time where the file allows it, so that a checkpoint may be larger than memory.
"""

from __future__ import annotations

import argparse
import io
import os
import pickle
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from warnings import catch_warnings, simplefilter

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..errors import (
    CheckpointNotFound,
    CheckpointUnreadable,
    ConfigError,
    CorruptRun,
    MissingDependency,
    StepwatchError,
)
from ..model.json_text import parse_json
from ..runtime.waiting import waiting_for
from ..store import Store, open_store, pieces_of_value, scheme_of
from ..store.local import local_path
from .native.blobs import BlobFile

Array = npt.NDArray[np.generic]
#: Reads the value of a tensor.
Read = Callable[[], Array]

SAFETENSORS = ".safetensors"
INDEX = ".index.json"
TORCH = (".pt", ".pth", ".ckpt", ".bin", ".pth.tar", ".pt.tar")
KERAS = (".keras", ".weights.h5")
# Files that lie in checkpoint folders and hold no tensors of a model.
_NO_WEIGHTS = re.compile(
    r"training_args\.bin|rng_state.*\.pth|scaler\.pt|scheduler\.(?:pt|bin)|random_states.*"
    r"|(?!.*(?:model|optimizer|adapter)).*\.bin"
)
_MOST_FILES = 10_000
_DEPTH = 4


@dataclass(frozen=True)
class Weights:
    """The weights of one model in a checkpoint.

    Args:
        file: The file, or the first of several.
        part: Where they lie in it, such as ``model``; ``""`` for the whole of it.
        tensors: What reads each of them, by name.
        storages: Which tensors share their memory: equal numbers of the same storage, by name.
        unit_axis: Along which axis of a matrix its units lie: 0 in PyTorch, -1 in Keras.
    """

    file: str
    part: str
    tensors: Mapping[str, Read]
    storages: Mapping[str, int] = field(default_factory=dict)
    unit_axis: int = 0


@dataclass(frozen=True)
class OptimizerState:
    """The state of one optimizer in a checkpoint.

    Args:
        file: The file.
        part: Where it lies in it.
        parameters: For each parameter what is kept of it, by name; ``step`` is a number.
    """

    file: str
    part: str
    parameters: Mapping[str, Mapping[str, Read]]


Checkpoint = list["Weights | OptimizerState"]


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Return what a checkpoint holds.

    Args:
        path: A file, or a folder with such files in it or below.

    Raises:
        CheckpointNotFound: There is none.
        CheckpointUnreadable: It is damaged, of a kind that is not known, or a pickle with code.
        MissingDependency: What reads it is not installed.
    """
    found = Path(path)
    if found.is_dir():
        files = checkpoint_files(found)
        if not files:
            raise CheckpointNotFound(
                f"no checkpoint in {path}; one has a file that ends in"
                f" {', '.join((SAFETENSORS, *TORCH, *KERAS))}"
            )
        return [one for file in files for one in _read_file(file)]
    if not found.is_file():
        raise CheckpointNotFound(f"there is no checkpoint at {path}")
    if not _is_checkpoint(found):
        raise CheckpointUnreadable(
            f"{path} is no checkpoint by its name; it should end in"
            f" {', '.join((SAFETENSORS, *TORCH, *KERAS))}"
        )
    return _read_file(found)


@contextmanager
def open_checkpoint(location: str) -> Iterator[Checkpoint]:
    """Yield what a checkpoint holds; of one in object storage a copy is read, for as long.

    Args:
        location: A path or URL of a file, or of a folder with such files in it or below.

    Raises:
        CheckpointNotFound: There is none.
        CheckpointUnreadable: See ``read_checkpoint``; or there is no room for a copy.
        MissingDependency: What reads it is not installed.
        StoreError: The storage refuses, or does not answer.
    """
    if scheme_of(location) in ("", "file"):
        yield read_checkpoint(local_path(location))
        return
    with TemporaryDirectory(prefix="stepwatch-") as name:
        folder = Path(name, "checkpoint")
        with waiting_for(f"a copy of {location}, to be read here"):
            url = _copy(location.rstrip("/"), folder)
        known = folder / location.rstrip("/").rpartition("/")[2]
        try:
            found = read_checkpoint(known if known.is_file() else folder)
            yield [replace(one, file=one.file.replace(str(folder), url)) for one in found]
        except (CheckpointNotFound, CheckpointUnreadable) as error:
            raise type(error)(str(error).replace(str(folder), url)) from None


def _copy(url: str, folder: Path) -> str:
    """Copy a checkpoint into a folder; return the URL of what is in the folder now."""
    keys = [key for key in open_store(url).list() if _may_hold_tensors(key)]
    if not keys:
        url, _, name = url.rpartition("/")
        keys = [name]
    try:
        store = open_store(url)
        for key in keys:
            _copy_file(store, key, folder / key)
        shards = [one for key in keys if key.endswith(INDEX) for one in _shards(folder / key)]
        for path in shards:
            if not path.exists():
                with suppress(FileNotFoundError):  # to read the index says so
                    _copy_file(store, path.relative_to(folder).as_posix(), path)
    except (FileNotFoundError, ConfigError):
        raise CheckpointNotFound(
            f"there is no checkpoint at {url}/{keys[0]}, neither a file nor below it"
        ) from None
    return url


def _may_hold_tensors(key: str) -> bool:
    path = PurePosixPath(key)
    is_near = len(path.parts) <= _DEPTH + 1
    return is_near and _is_checkpoint(path) and not _NO_WEIGHTS.fullmatch(path.name)


def _copy_file(store: Store, key: str, path: Path) -> None:
    pieces = pieces_of_value(store, key, store.size(key))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(pieces)
    except StepwatchError:
        raise
    except OSError as error:
        raise CheckpointUnreadable(
            f"{key} of {store.url} cannot be copied to this machine, to be read: {error.strerror};"
            " $TMPDIR says where to"
        ) from None


def checkpoint_files(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder and below: files, and the indices of several as one."""
    files: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders.sort()
        if len(Path(root).relative_to(folder).parts) >= _DEPTH:
            folders.clear()
        here = [Path(root, name) for name in sorted(names)]
        indices = [one for one in here if one.name.endswith(INDEX) and _is_checkpoint(one)]
        sharded = {shard.name for one in indices for shard in _shards(one)}
        known = [one for one in here if _is_checkpoint(one) and one.name not in sharded]
        files += [one for one in known if not _NO_WEIGHTS.fullmatch(one.name)]
        if len(files) >= _MOST_FILES:
            break
    return files


def _is_checkpoint(path: PurePath) -> bool:
    name = path.name.lower()
    return name.endswith((SAFETENSORS, f"{SAFETENSORS}{INDEX}", f".bin{INDEX}", *TORCH, *KERAS))


def _read_file(path: Path) -> Checkpoint:
    if not path.is_file():
        raise CheckpointUnreadable(f"{path} is no regular file, and is not opened")
    name = path.name.lower()
    if name.endswith(INDEX):
        return _read_shards(path)
    if name.endswith(SAFETENSORS):
        return [Weights(str(path), "", _safetensors(path))]
    if name.endswith(KERAS):
        return _read_keras(path)
    return _sorted(torch_values(path), str(path))


def _library(name: str, path: Path) -> Any:
    """Import what reads a file, which is no dependency of ours."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingDependency(
            f"to read {path} {name} is needed; run: pip install {name}"
        ) from None


# Safetensors, and what is spread over several files


def _safetensors(path: Path) -> dict[str, Read]:
    size = path.stat().st_size

    def read(start: int, length: int) -> bytes:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(min(length, max(0, size - start)))

    try:
        blobs = BlobFile(path.name, read)
        whole = blobs.size
    except CorruptRun as error:
        raise CheckpointUnreadable(f"{path} is damaged: {error}") from None
    if size < whole:
        raise CheckpointUnreadable(f"{path} is cut off: it has {size:,} of {whole:,} bytes")
    return {name: partial(_blob, path, blobs, name) for name in blobs.names}


def _blob(path: Path, blobs: BlobFile, name: str) -> Array:
    try:
        return blobs.get(name)
    except CorruptRun as error:
        raise CheckpointUnreadable(f"{path} is damaged: {error}") from None


def _shards(index: Path) -> list[Path]:
    """Return the files that an index names."""
    try:
        files = parse_json(index.read_bytes())["weight_map"].values()
        return [index.parent / name for name in sorted({str(Path(one).name) for one in files})]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointUnreadable(f"{index} is no index of files: {error!r}") from None


def _read_shards(index: Path) -> Checkpoint:
    shards = _shards(index)
    lost = [one.name for one in shards if not one.is_file()]
    if lost:
        raise CheckpointUnreadable(
            f"{index} names {len(shards)} files and {len(lost)} of them is not there: {lost[0]}"
        )
    parts = [one for shard in shards for one in _read_file(shard) if isinstance(one, Weights)]
    tensors: dict[str, Read] = {}
    for one in parts:
        tensors.update(one.tensors)
    return [Weights(str(index), "", tensors)]


# PyTorch


def torch_values(path: Path) -> object:
    """Return what a file of ``torch.save`` holds, if that is tensors and plain values.

    Raises:
        CheckpointUnreadable: It is damaged, or holds more.
        MissingDependency: There is no torch.
    """
    torch = _library("torch", path)
    with path.open("rb") as file:
        is_zip = file.read(4) == b"PK\x03\x04"
    if is_zip and not zipfile.is_zipfile(path):
        raise CheckpointUnreadable(f"{path} is cut off: its end is missing")
    if not path.stat().st_size:
        raise CheckpointUnreadable(f"{path} is empty")
    try:
        with torch.serialization.safe_globals(_plain_globals()), catch_warnings():
            simplefilter("ignore")  # of old protocols: what cannot be read is an error anyway
            return torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip or None)
    except pickle.UnpicklingError as error:
        raise CheckpointUnreadable(_why_refused(path, str(error))) from None
    # whatever a damaged file leads torch to
    except Exception as error:  # noqa: BLE001
        first = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise CheckpointUnreadable(f"{path} is damaged: {first}") from None


def _plain_globals() -> list[Any]:
    """Return what checkpoints hold beside tensors that does nothing but hold values."""
    found: list[Any] = [argparse.Namespace, np.dtype, np.ndarray]
    for module in ("numpy._core.multiarray", "numpy.core.multiarray"):
        with suppress(ImportError, AttributeError):
            holder = import_module(module)
            found += [(getattr(holder, name), f"{module}.{name}") for name in _OF_NUMPY]
    kinds = {type(np.dtype(code)) for code in np.typecodes["All"]}
    return [*found, *sorted(kinds, key=lambda kind: kind.__name__)]


_OF_NUMPY = ("scalar", "_reconstruct")


def _why_refused(path: Path, message: str) -> str:
    name = re.search(r"GLOBAL (\S+)", message)
    if name is None:
        name = re.search(r"(?:class|function|global)[: ]+`?([\w.]+\.[\w.]+)", message)
    if "Unsupported" in message or name is not None:
        what = f" ({name[1].rstrip('.,')})" if name else ""
        return (
            f"{path} is a pickle with more than tensors in it{what}, and to read that would run"
            " code from the file; save model.state_dict() instead"
        )
    return f"{path} is damaged, or no file of torch.save"


def _sorted(what: object, file: str, part: str = "") -> Checkpoint:
    """Return the weights and the optimizer states in what a file holds."""
    if not isinstance(what, (Mapping, list, tuple)) or part.count("/") >= _DEPTH:
        return []
    if isinstance(what, Mapping):
        if "param_groups" in what and isinstance(what.get("state"), Mapping):
            return [OptimizerState(file, part, _optimizer_parameters(what))]
        tensors = _state_dict(what)
        if tensors:
            storages = {name: _storage(one) for name, one in tensors.items()}
            reads = {name: partial(_as_array, one) for name, one in tensors.items()}
            return [Weights(file, part, reads, storages)]
    items: Iterable[tuple[object, object]] = (
        what.items() if isinstance(what, Mapping) else enumerate(what)
    )
    below = ((f"{part}/{key}" if part else str(key), inner) for key, inner in items)
    return [one for name, inner in below for one in _sorted(inner, file, name)]


def _is_tensor(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "untyped_storage")


def _state_dict(what: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the tensors of a state dict; empty if it is none."""
    named = {
        name: value
        for name, value in what.items()
        if not str(name).endswith(("_extra_state", "_metadata"))
    }
    if not named or not all(isinstance(name, str) for name in named):
        return {}
    has_axis = any(_is_tensor(one) and one.dim() > 0 for one in named.values())
    return named if has_axis and all(map(_is_tensor, named.values())) else {}


def _optimizer_parameters(what: Mapping[str, Any]) -> dict[str, dict[str, Read]]:
    names: dict[Any, str] = {}
    for group in what["param_groups"]:
        if isinstance(group, Mapping):
            for number, name in zip(group.get("params", ()), group.get("param_names", ())):  # noqa: B905
                names[number] = str(name)
    found: dict[str, dict[str, Read]] = {}
    for key, kept in what["state"].items():
        if isinstance(kept, Mapping):
            found[names.get(key, str(key))] = {
                str(name): partial(_as_array, value)
                for name, value in kept.items()
                if _is_tensor(value) or isinstance(value, (int, float))
            }
    return found


def _storage(tensor: Any) -> int:
    with suppress(RuntimeError, NotImplementedError):  # sparse ones have none
        return int(tensor.untyped_storage().data_ptr())
    return 0


_VIEWED: dict[str, tuple[str, Any]] = {
    "bfloat16": ("int16", ml_dtypes.bfloat16),
    "float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
}


def _as_array(value: Any) -> Array:
    """Return a tensor of torch, or a number, as an array; empty for what has no dense values."""
    if not _is_tensor(value):
        return np.asarray(value)
    torch = sys.modules["torch"]
    if value.layout is not torch.strided or value.is_quantized:
        return np.empty(0, np.float32)
    name = str(value.dtype).removeprefix("torch.")
    if name in _VIEWED:
        integer, dtype = _VIEWED[name]
        found: Array = value.contiguous().view(getattr(torch, integer)).numpy().view(dtype)
        return found
    array: Array = np.empty(0, np.float32)
    with suppress(TypeError):  # a dtype that NumPy does not know
        array = value.detach().resolve_conj().resolve_neg().numpy()
    return array


# Keras


def _read_keras(path: Path) -> Checkpoint:
    h5py = _library("h5py", path)
    try:
        source: Any = path
        if path.suffix == ".keras":
            with zipfile.ZipFile(path) as archive:
                source = io.BytesIO(archive.read("model.weights.h5"))
        with h5py.File(source, "r") as file:
            found = dict(_datasets(file))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise CheckpointUnreadable(f"{path} is damaged: {error}") from None
    weights = {name: one for name, one in found.items() if not _is_of_optimizer(name)}
    states = {name: one for name, one in found.items() if _is_of_optimizer(name)}
    result: Checkpoint = [Weights(str(path), "", weights, unit_axis=-1)]
    if states:
        kept = {name: {"value": one} for name, one in states.items()}
        result.append(OptimizerState(str(path), "optimizer", kept))
    return result


def _is_of_optimizer(name: str) -> bool:
    return name.startswith(("optimizer/", "optimizer_weights/"))


def _datasets(group: Any, path: str = "") -> Iterator[tuple[str, Read]]:
    for name, item in group.items():
        below = f"{path}/{name}" if path else name
        if hasattr(item, "shape"):
            value = np.asarray(item)
            if value.dtype.kind in "fiub":
                yield below, partial(_itself, value)
        else:
            yield from _datasets(item, below)


def _itself(value: Array) -> Array:
    return value
