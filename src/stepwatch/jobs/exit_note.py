"""Runs a program and notes its exit code: ``python -I -S exit_note.py FILE PROGRAM …``.

Linux tells an exit code to none but the parent, which may be gone by then. So this is the parent.
It imports next to nothing: one waits beside each process that trains or judges.
"""

import os
import signal
import sys

_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def main(file: str, command: list[str]) -> None:
    """Run a command, and write its exit code to a file, negative for a signal."""
    # What comes before there is a program is meant for it, and waits until then.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    process = os.fork()
    if not process:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]} cannot be started: {error.strerror}\n".encode())
        os._exit(127)
    early = signal.sigpending() & set(_ENDING)
    for number in _ENDING:  # what comes later is sent to the program as well
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    for number in early:
        os.kill(process, number)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    try:
        with open(f"{file}.new", "w", opener=_private_opener) as note:
            note.write(str(code))
        os.rename(f"{file}.new", file)
    except OSError:  # a full disk: the parent may still be there
        os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
