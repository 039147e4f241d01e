"""Starts Python where PyTorch is imported already: a process forks for each program it is given.

Most of the time of a short training goes into importing PyTorch. ``Popen`` and ``run`` are used
like those of ``subprocess``, by tests that start a script or the command but do not test that.
What a program finds is as in a new interpreter: its ``__main__``, argv, paths, streams and signals;
PyTorch is loaded but hidden, so that importing it is an import, which ends at once. What cannot be
had so, as a shell, options of the interpreter or a library to preload, is started the usual way.

This file is the server too, as a script of its own.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from types import ModuleType

# Imported by the server; those of PyTorch are hidden from a program until it imports them. What
# others import late takes as long: the compiler of PyTorch, by the first step of an optimizer, and
# pandas, by the first table.
PRELOADED = (
    "torch",
    "torch._dynamo",
    "torch.distributed",
    "numpy",
    "pandas",
    "psutil",
    "pyarrow.pandas_compat",
    "pyarrow.parquet",
    "pyarrow.compute",
    "safetensors.numpy",
    "ml_dtypes",
    "click",
    "rich.console",
    "rich.live",
    "rich.progress",
    "rich.table",
    "multiprocessing.spawn",
    "concurrent.futures.thread",
)
_HIDDEN = "torch"
_LARGEST_REQUEST = 1 << 18
_STATUS = struct.Struct("i")
# What the first test that needs the server changes of it is not for all others.
_ENVIRONMENT = dict(os.environ)


class Popen(subprocess.Popen):
    """``subprocess.Popen`` of a Python program, forked from a process that has PyTorch."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        usual = (args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest)
        program = None if executable or preexec_fn or pass_fds else _program(args)
        start_new_session, process_group = rest[-2:] if sys.version_info >= (3, 11) else (0, -1)
        shell, handles = rest[2], rest[3:9]
        preloads = (os.environ if env is None else env).get("LD_PRELOAD")
        program = None if preloads != os.environ.get("LD_PRELOAD") else program
        self._status = None
        if program is None or shell or start_new_session or process_group != -1 or os.name == "nt":
            super()._execute_child(*usual)
            return
        stdin, to_stdin, from_stdout, stdout, from_stderr, stderr = handles
        self._status, status = os.pipe()
        request = {"args": program, "cwd": os.path.abspath(cwd or os.getcwd()),
                   "env": dict(os.environ if env is None else env)}  # fmt: skip
        streams = [
            own if given == -1 else given for own, given in enumerate((stdin, stdout, stderr))
        ]
        try:
            _server().send(request, [*streams, status])
        finally:
            os.close(status)
        self.pid = self._read_status()
        self._child_created = True
        pairs = ((to_stdin, stdin), (from_stdout, stdout), (from_stderr, stderr))
        for descriptor in {theirs for ours, theirs in pairs if -1 not in (ours, theirs)}:
            os.close(descriptor)
        if getattr(self, "_devnull", None) is not None:
            os.close(self._devnull)
            self._devnull = None
        self._closed_child_pipe_fds = True

    def _read_status(self):
        return _STATUS.unpack(os.read(self._status, _STATUS.size))[0]

    def _try_wait(self, wait_flags):
        if self._status is None:
            return super()._try_wait(wait_flags)
        if wait_flags & os.WNOHANG and not select.select([self._status], [], [], 0)[0]:
            return 0, 0
        status = self._read_status()
        os.close(self._status)
        return self.pid, status

    def _internal_poll(self, *args, **kwargs):
        if self._status is None:
            return super()._internal_poll(*args, **kwargs)
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid:
                        self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def run(*args, input=None, capture_output=False, timeout=None, check=False, **kwargs):
    """Run a program to its end, as ``subprocess.run`` does."""
    if input is not None:
        kwargs["stdin"] = subprocess.PIPE
    if capture_output:
        kwargs["stdout"] = kwargs["stderr"] = subprocess.PIPE
    with Popen(*args, **kwargs) as process:
        try:
            output, errors = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
        done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def _program(args):
    """Return the command of a Python program, ``None`` for what is none or has options."""
    command = [os.fspath(part) for part in args] if not isinstance(args, (str, bytes)) else []
    if not command or not all(isinstance(part, str) for part in command):
        return None
    if command[0] != sys.executable:
        is_ours = command[0] == str(Path(sys.executable).with_name("stepwatch"))
        return ["script", *command] if is_ours else None
    kind = command[1] if len(command) > 1 else ""
    if kind in ("-c", "-m"):
        return [kind, *command[2:]]
    return None if kind.startswith("-") or not kind else ["script", *command[1:]]


class _Server:
    """A process that forks; it ends when this one does."""

    def __init__(self):
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._requests, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST_REQUEST)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, env=_ENVIRONMENT,
            )  # fmt: skip
        self._pid = os.getpid()
        atexit.register(self.close)

    def send(self, request, descriptors):
        socket.send_fds(self._requests, [json.dumps(request).encode()], descriptors)

    def close(self):
        if os.getpid() == self._pid:
            self._requests.close()
            self._process.wait()


@cache
def _server():
    return _Server()


class _Hidden(importlib.abc.MetaPathFinder):
    """Finds a package that is loaded, and comes back when it is imported."""

    def __init__(self, name):
        self._name = name
        self._modules = {
            key: sys.modules.pop(key)
            for key in list(sys.modules)
            if key == name or key.startswith(f"{name}.")
        }
        self._spec = self._modules[name].__spec__
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self._name:
            return None
        places = self._spec.submodule_search_locations
        spec = importlib.machinery.ModuleSpec(fullname, _Return(self), origin=self._spec.origin)
        spec.submodule_search_locations, spec.has_location = places, True
        return spec

    def package(self):
        return self._modules[self._name]

    def restore(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        sys.modules.update(self._modules)
        self.package().__spec__ = self._spec


class _Return(importlib.abc.Loader):
    """Brings a hidden package back."""

    def __init__(self, hidden):
        self._hidden = hidden

    def create_module(self, spec):
        return self._hidden.package()

    def exec_module(self, module):
        self._hidden.restore()


def _serve(requests):
    """Fork for each request; return the request, in its process, or ``None`` at the end of all."""
    running = {}
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    usual = signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    while True:
        ready, _, _ = select.select([requests, reader], [], [])
        if reader in ready:
            os.read(reader, 1 << 12)
            for pid in [*running]:
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    _tell(running.pop(pid), status, last=True)
        if requests not in ready:
            continue
        text, descriptors, _, _ = socket.recv_fds(requests, _LARGEST_REQUEST, 4)
        if not text:
            return None
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, usual)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            requests.close()
            for descriptor in (reader, writer, descriptors[3], *running.values()):
                os.close(descriptor)
            for number in range(3):
                os.dup2(descriptors[number], number)
            for descriptor in descriptors[:3]:
                os.close(descriptor)
            return json.loads(text)
        for descriptor in descriptors[:3]:
            os.close(descriptor)
        running[pid] = descriptors[3]
        _tell(descriptors[3], pid)


def _tell(descriptor, number, *, last=False):
    with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(descriptor, _STATUS.pack(number))
    if last:
        os.close(descriptor)


def _begin(request, first_path):
    """Make of this process what a new interpreter would be."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        raw = io.FileIO(number, mode, closefd=False)
        options = {"line_buffering": True} if number == 2 or raw.isatty() else {}
        if mode == "r":
            buffered = io.BufferedReader(raw)
        elif request["env"].get("PYTHONUNBUFFERED"):
            buffered, options = raw, {"write_through": True}
        else:
            buffered = io.BufferedWriter(raw)
        errors = "backslashreplace" if number == 2 else "strict"
        stream = io.TextIOWrapper(buffered, "utf-8", errors, **options)
        stream.mode = mode
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    more = request["env"].get("PYTHONPATH", "")
    sys.path[:] = [first_path, *filter(None, more.split(os.pathsep)), *_PATHS]
    if more:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module("sitecustomize")
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def _main_module(**facts):
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __annotations__={}, **facts)
    sys.modules["__main__"] = module
    return module


def _execute(request):
    """Run the program as the main one of this process."""
    kind, program, *arguments = request["args"]
    if kind == "-m":
        _begin(request, request["cwd"])
        sys.argv[:] = ["-m", *arguments]
        _main_module()
        runpy._run_module_as_main(program)
    elif kind == "-c":
        _begin(request, "")
        sys.argv[:] = ["-c", *arguments]
        exec(compile(program, "<string>", "exec", dont_inherit=True), _main_module().__dict__)
    else:
        os.chdir(request["cwd"])
        _begin(request, os.path.dirname(os.path.realpath(program)))
        sys.argv[:] = [program, *arguments]
        file = os.path.abspath(program)
        if not os.path.isfile(program):
            sys.stderr.write(f"{sys.executable}: can't open file {file!r}: [Errno 2] No such file "
                             "or directory\n")  # fmt: skip
            raise SystemExit(2)
        loader = importlib.machinery.SourceFileLoader("__main__", file)
        main = _main_module(__file__=file, __loader__=loader, __cached__=None)
        code = compile(Path(program).read_bytes(), file, "exec", dont_inherit=True)
        exec(code, main.__dict__)


def _run_to_end(request):
    """Run the program and end as the interpreter does, but for taking its modules apart.

    That takes longer than a short training. Threads, callbacks, streams and what the program itself
    holds come to their ends.
    """
    status, interrupted = 0, False
    try:
        _execute(request)
    except SystemExit as error:
        status = _exit_status(error.code)
    except BaseException as error:  # noqa: BLE001 as the interpreter does
        status, interrupted = 1, isinstance(error, KeyboardInterrupt)
        _show(error)
    threading._shutdown()
    atexit._run_exitfuncs()
    if threading.active_count() > 1 and not interrupted:
        raise SystemExit(status)  # only the interpreter stops the threads that go on
    main = sys.modules["__main__"].__dict__
    if main is not globals():
        main.clear()
        gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream and not stream.closed:
                stream.flush()
        except OSError:  # nobody reads it any more
            status = 120
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xFF)


def _exit_status(code):
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _show(error):
    """Show an error as the interpreter does."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    error.__traceback__ = traceback
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    sys.excepthook(type(error), error, traceback)


if __name__ == "__main__":
    sys.path.pop(0)
    _PATHS = [path for path in sys.path if path not in os.environ.get("PYTHONPATH", "").split(":")]
    for _name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(_name)
    if _HIDDEN in sys.modules:
        _Hidden(_HIDDEN)
    gc.collect()
    gc.freeze()
    _request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if _request is not None:
        _run_to_end(_request)
