"""A real S3 server for tests: Ceph on one machine, from Debian's packages, on loopback.

    python tests/s3/ceph.py COMMAND ...   runs a command with a server, and stops the server
    python tests/s3/ceph.py               prints how to reach one, and stops it when stdin ends

A monitor, a store of objects in memory and the gateway that speaks S3. Signatures, ranges, paging
and conditions are really checked. The daemons are children of this process and die with it,
whatever ends it; so a test process that is killed leaves nothing behind: the end of its pipe is
the end of stdin here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

PACKAGES = ("radosgw", "ceph-mon", "ceph-osd", "ceph-common")
ACCESS_KEY, SECRET_KEY = "testkey", "testsecret"
#: By which clients may ask for objects to be encrypted.
KMS_KEY = "test-kms-key"
#: Of the gateway, and of each command before it.
START_SECONDS = 120
#: Between the choice of a port and its use another process may take it.
ATTEMPTS = 3
_DEATH_SIGNAL = 1  # of the parent: PR_SET_PDEATHSIG of Linux

# One copy of everything, in memory, and no warning that this is not safe.
_CONFIGURATION = """\
[global]
fsid = {fsid}
mon host = {monitor}
public network = 127.0.0.0/8
public addr = 127.0.0.1
cluster addr = 127.0.0.1
keyring = {folder}/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000
run dir = {folder}/run
admin socket = {folder}/run/$name.asok
log file = {folder}/run/$name.log
mon data = {folder}/mon
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 4G
mon data avail crit = 1
mon data avail warn = 1
rgw frontends = beast endpoint=127.0.0.1:{port} tcp_nodelay=1
rgw dns name = 127.0.0.1
rgw crypt require ssl = false
rgw crypt s3 kms backend = testing
rgw crypt s3 kms encryption keys = {kms_key}=YSBrZXkgdGhhdCBldmVyeWJvZHkgbWF5IGtub3cgbm8=
"""
_KEYS = (
    ("mon.", "mon", "allow *"),
    ("client.admin", "mon", "allow *", "osd", "allow *", "mgr", "allow *"),
    ("osd.0", "mon", "allow profile osd", "osd", "allow *"),
    ("client.rgw", "mon", "allow rwx", "osd", "allow rwx"),
)


class Ceph:
    """The server, from ``with`` to its end.

    Raises:
        RuntimeError: It cannot be installed or does not start; the message says why.
    """

    def __init__(self) -> None:
        self._daemons: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which programs reach it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._port}",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",  # asked for by obstore itself
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def __enter__(self) -> Ceph:
        install()
        for _ in range(ATTEMPTS - 1):
            with contextlib.suppress(RuntimeError):
                return self._started()
        return self._started()

    def __exit__(self, *_: object) -> None:
        for daemon in reversed(self._daemons):
            daemon.kill()  # nothing that is worth being stored
        for daemon in self._daemons:
            daemon.wait()
        self._daemons.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _started(self) -> Ceph:
        # Not below $TMPDIR: the names of sockets may have about a hundred characters.
        self._folder = Path(tempfile.mkdtemp(prefix="s3-", dir="/tmp"))
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        self._port, monitor_port = _free_ports(2)
        self._monitor = f"[v2:127.0.0.1:{monitor_port}]"
        self._write_configuration()
        key_ring = ["--keyring", f"{self._folder}/keyring"]
        self._run("ceph-mon", "--mkfs", "-i", "a", "--monmap", f"{self._folder}/monmap", *key_ring)
        self._daemon("ceph-mon", "-f", "-i", "a")
        osd = str(uuid.uuid4())
        self._run("ceph", "osd", "new", osd, "0")
        self._run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self._daemon("ceph-osd", "-f", "-i", "0")
        self._daemon("radosgw", "-f", "-n", "client.rgw")
        self._wait_for_gateway()
        keys = ["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY]
        self._run("radosgw-admin", "user", "create", "--uid=test", "--display-name=test", *keys)

    def _write_configuration(self) -> None:
        for name in ("mon", "osd", "run"):
            (self._folder / name).mkdir()
        fsid = str(uuid.uuid4())
        facts = {"folder": self._folder, "port": self._port, "monitor": self._monitor}
        facts["kms_key"] = KMS_KEY
        text = _CONFIGURATION.format(fsid=fsid, **facts)
        (self._folder / "ceph.conf").write_text(text)
        monmap = ["--fsid", fsid, "--addv", "a", self._monitor, f"{self._folder}/monmap"]
        self._run("monmaptool", "--create", "--clobber", *monmap)
        key_ring = f"{self._folder}/keyring"
        Path(key_ring).touch()
        for name, *rights in _KEYS:
            caps = [
                word
                for which, what in zip(rights[::2], rights[1::2], strict=True)
                for word in ("--cap", which, what)
            ]
            self._run("ceph-authtool", key_ring, "--gen-key", "-n", name, *caps)

    def _run(self, *command: str) -> None:
        """Run a command to its end; it is given up as soon as a daemon it waits for has ended."""
        with (
            tempfile.TemporaryFile("w+") as output,
            subprocess.Popen(
                command,
                env=self._variables(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            ) as process,
        ):
            end = time.monotonic() + START_SECONDS
            try:
                while process.poll() is None:
                    self._check_daemons()
                    if time.monotonic() > end:
                        raise RuntimeError(f"{' '.join(command)} took over {START_SECONDS} s")
                    time.sleep(0.02)
            finally:
                process.kill()
            if process.returncode:
                output.seek(0)
                raise RuntimeError(f"{' '.join(command)} failed: {output.read().strip()[-500:]}")

    def _check_daemons(self) -> None:
        for daemon in self._daemons:
            if daemon.poll() is not None:
                raise RuntimeError(f"{daemon.args[0]} ended with {daemon.returncode}")

    def _daemon(self, *command: str) -> None:
        daemon = subprocess.Popen(
            command,
            env=self._variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,  # no other thread runs yet
        )
        self._daemons.append(daemon)

    def _variables(self) -> dict[str, str]:
        return {**os.environ, "CEPH_CONF": f"{self._folder}/ceph.conf"}

    def _wait_for_gateway(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            self._check_daemons()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the gateway did not open its port within {START_SECONDS} s")


def install() -> None:
    """Install the packages where they are absent.

    Raises:
        RuntimeError: That is not possible here.
    """
    if shutil.which("radosgw"):
        return
    wanted = f"a real S3 server needs the Debian packages {' '.join(PACKAGES)}"
    if os.geteuid() or not shutil.which("apt-get"):
        raise RuntimeError(f"{wanted}; install them as root: apt-get install {' '.join(PACKAGES)}")
    quietly = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
    for command in (["apt-get", "update", "-qq"], quietly):
        variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{wanted}, and {command[1]} failed: {done.stderr.strip()[-500:]}")


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


def main(command: list[str]) -> int:
    """Run a command with a server, or a server until stdin ends."""
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, lambda *_: sys.exit(1))
    try:
        with Ceph() as server:
            if command:
                return subprocess.call(command, env={**os.environ, **server.environment})
            print(" ".join(f"{name}={value}" for name, value in server.environment.items()))
            sys.stdout.flush()
            sys.stdin.read()
            return 0
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
