"""Run folders as somebody might make them who wants to harm whoever looks at them.

Each begins as an ordinary run, of which one thing is changed. No verb may hang over it, show a
file that is not in it, run anything, or send control sequences to a terminal.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .made_runs import make_record, make_run

#: What the file holds that a hostile run tries to have shown.
SECRET = "a secret that lies outside of the run"
#: What a terminal would act on, in names, messages and commands.
ESCAPES = "\x1b]0;taken\x07\x1b[2J\x9b31m\u202etxt.exe\r"


def make_hostile_run(kind: str, folder: str | os.PathLike[str]) -> str:
    """Make a hostile run, and beside it the file that it is after, and return its path.

    Args:
        kind: One of ``HOSTILE``.
        folder: Where; it is made.

    Raises:
        OSError: The system has no such files.
    """
    run = Path(folder, "run")
    make_run(run, steps=6, raw=True)
    secret = Path(folder, "secret")
    secret.write_text(json.dumps({"secret": SECRET}))
    HOSTILE[kind](run, secret)
    return str(run)


def _link(key: str) -> Callable[[Path, Path], None]:
    def change(run: Path, secret: Path) -> None:
        path = run / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(secret)

    return change


def _link_folder(run: Path, secret: Path) -> None:
    (run / "tensors").rename(secret.with_name("elsewhere"))
    (run / "tensors").symlink_to(secret.with_name("elsewhere"))


def _link_up(run: Path, secret: Path) -> None:
    del secret
    (run / "findings").mkdir(exist_ok=True)
    (run / "findings" / "again").symlink_to(run.parent)


def _replace_by(make: Callable[[Path], None], pattern: str) -> Callable[[Path, Path], None]:
    def change(run: Path, secret: Path) -> None:
        del secret
        found = sorted(run.glob(pattern)) or [run / pattern]
        found[0].unlink(missing_ok=True)
        found[0].parent.mkdir(parents=True, exist_ok=True)
        make(found[0])

    return change


def _socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    try:  # addresses are short
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _device(path: Path) -> None:
    os.mknod(path, 0o600 | stat.S_IFCHR, os.stat("/dev/zero").st_rdev)


def _link_of_another(key: str) -> Callable[[Path, Path], None]:
    def change(run: Path, secret: Path) -> None:
        path = run / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.chown(secret, os.getuid() + 1, -1)
        os.link(secret, path)

    return change


def _write(key: str, data: bytes) -> Callable[[Path, Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(data)

    return _replace_by(make, key)


def _edit(key: str, **fields: Any) -> Callable[[Path, Path], None]:
    def change(run: Path, secret: Path) -> None:
        del secret
        path = run / key
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return change


def _cut(pattern: str) -> Callable[[Path, Path], None]:
    def change(run: Path, secret: Path) -> None:
        del secret
        for path in run.glob(pattern):
            path.write_bytes(path.read_bytes()[:-20])

    return change


def _name_ring(run: Path, secret: Path) -> None:
    (run / "blackbox").mkdir(exist_ok=True)
    note = {"host": socket.gethostname(), "path": str(secret)}
    (run / "blackbox" / "worker_0.json").write_text(json.dumps(note))


def _names_with_escapes(run: Path, secret: Path) -> None:
    from ..formats import RunTarget, open_writer
    from ..formats.manifest import End, Manifest
    from ..model.finding import Finding
    from ..store import open_store

    del secret
    for path in sorted(run.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    manifest = Manifest(
        ESCAPES, 1, (f"{ESCAPES}.py", ESCAPES), host=ESCAPES, versions={ESCAPES: ESCAPES}
    )
    writer = open_writer(RunTarget(open_store(run), "worker_0", manifest))
    for step in range(6):
        arrays = {f"{ESCAPES}.weight": [1.0, 2.0], f"loss/{ESCAPES}": [1.0]}
        writer.write(make_record(step, arrays, raw=True))
    writer.close(End("failed", 2, 6, error=ESCAPES, coverage=ESCAPES, lost=ESCAPES))
    finding = Finding(
        ESCAPES,
        3,
        f"{ESCAPES}.weight",
        ESCAPES,
        remedy=ESCAPES,
        severity="error",
        condition=ESCAPES,
    )
    (run / "findings").mkdir(exist_ok=True)
    (run / "findings" / "worker_0.jsonl").write_text(f"{finding.to_json()}\n")


_MANY = b"[" * 200_000
#: What can be changed, by name.
HOSTILE: Mapping[str, Callable[[Path, Path], None]] = {
    "manifest is a link": _link("run.json"),
    "end note is a link": _link("end/worker_0.json"),
    "findings are a link": _link("findings/worker_0.jsonl"),
    "black box is a link": _link("blackbox/worker_0.ring"),
    "extra file is a link": _link("notes/readme.txt"),
    "folder of tensors is a link": _link_folder,
    "folder is a link to what it lies in": _link_up,
    "black box names another file": _name_ring,
    "manifest is a FIFO": _replace_by(os.mkfifo, "run.json"),
    "end note is a FIFO": _replace_by(os.mkfifo, "end/worker_0.json"),
    "part is a FIFO": _replace_by(os.mkfifo, "observations/*/*.parquet"),
    "tensors are a FIFO": _replace_by(os.mkfifo, "tensors/*/*.safetensors"),
    "findings are a FIFO": _replace_by(os.mkfifo, "findings/worker_0.jsonl"),
    "extra file is a socket": _replace_by(_socket, "notes/socket"),
    "manifest is another user's": _link_of_another("run.json"),
    "findings are another user's": _link_of_another("findings/worker_0.jsonl"),
    "extra file is another user's": _link_of_another("notes/readme.txt"),
    "manifest is a device": _replace_by(_device, "run.json"),
    "part is a device": _replace_by(_device, "observations/*/*.parquet"),
    "extra file is a device": _replace_by(_device, "notes/device"),
    "manifest is endless": _replace_by(_zeros, "run.json"),
    "manifest is nested": _write("run.json", _MANY),
    "manifest is large": _write("run.json", b'{"format": "' + b"x" * (20 << 20)),
    "manifest is not UTF-8": _write("run.json", b'{"format": "\xff\xfe"}'),
    "manifest is a list": _write("run.json", b"[1, 2]"),
    "numbers are texts": _edit("run.json", pid="many", started_ns="yesterday"),
    "numbers are huge": _edit("run.json", pid=10**30, started_ns=10**40, num_workers=10**12),
    "command is a number": _edit("run.json", command=3),
    "command holds numbers": _edit("run.json", command=[1, None]),
    "versions are a list": _edit("run.json", versions=[1, 2], folder="\0"),
    "end note is nested": _write("end/worker_0.json", _MANY),
    "end note holds texts": _edit("end/worker_0.json", steps="all", ended_ns=None),
    "end note is of the far future": _edit("end/worker_0.json", ended_ns=10**40),
    "findings are nested": _write("findings/worker_0.jsonl", _MANY + b"\n"),
    "findings are not findings": _write("findings/worker_0.jsonl", b'{"rule": 3}\n[]\n\xff\n'),
    "statuses are nested": _write("findings/worker_0.statuses.json", _MANY),
    "statuses are numbers": _write("findings/worker_0.statuses.json", b"[1, 2]"),
    "actions are nested": _write("findings/worker_0.actions.jsonl", _MANY),
    "worker note is nested": _write("workers/worker_1.json", _MANY),
    "parts are cut off": _cut("observations/*/*.parquet"),
    "parts are noise": _write("observations/*/*.parquet", b"PAR1" + bytes(range(256)) * 9),
    "tensors are cut off": _cut("tensors/*/*.safetensors"),
    "tensors claim to be huge": _write("tensors/*/*.safetensors", b"\xff" * 8 + b"{}"),
    "text acts on terminals": _names_with_escapes,
}


def hostile_runs(folder: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Make a run of every kind that this system can have; yield kind and path."""
    for number, kind in enumerate(HOSTILE):
        try:
            yield kind, make_hostile_run(kind, Path(folder, str(number)))
        except OSError:
            continue
