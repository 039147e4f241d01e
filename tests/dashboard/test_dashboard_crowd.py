"""A hundred who look at once, half of them slow, and one that never reads."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from stepwatch.formats.manifest import End
from stepwatch.testing import make_record
from tests.support.looked_at import begin, make_arrays

#: The largest file; asked for often enough, it is more than any buffer holds.
LARGE = "/static/uplot/uPlot.iife.min.js"
STEPWATCH = Path(sys.executable).with_name("stepwatch")
pytestmark = pytest.mark.slow


@pytest.fixture
def writer(tmp_path):
    writer = begin(tmp_path / "run")
    for step in range(10):
        writer.write(make_record(step, make_arrays(step)))
    writer.flush()
    yield writer
    writer.close(End("finished", 1, 1))


@pytest.fixture
def server(tmp_path, writer):
    """The command, serving the run; its process and where it listens."""
    command = [STEPWATCH, "dash", str(tmp_path / "run"), "--port", "0", "--no-open", "--no-token"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    port = urlsplit(re.search(r"http\S+", process.stdout.readline())[0]).port
    yield process, port
    process.terminate()
    process.wait()


async def ask(port, path, *, limit=2**16, times=1):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=limit)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode() * times)
    await writer.drain()
    return reader, writer


async def hear(port, pause_s, ready):
    """Listen, say when the first version is there, and return when the second came."""
    reader, writer = await ask(port, "/events?run=run")
    versions = set()
    while len(versions) < 2:
        line = await reader.readuntil(b"\n")
        if line.startswith(b"data: "):
            versions.add(line)
            ready.release()
        await asyncio.sleep(pause_s)
    writer.close()
    return time.monotonic()


async def crowd(process, port, grow):
    """Let all of them listen while the run grows; return how long each waited."""
    never = [await ask(port, LARGE, limit=1, times=20) for _ in range(5)]
    ready = asyncio.Semaphore(0)
    slow = [asyncio.create_task(hear(port, 0.3, ready)) for _ in range(50)]
    quick = [asyncio.create_task(hear(port, 0.0, ready)) for _ in range(49)]
    for _ in (*slow, *quick):
        await asyncio.wait_for(ready.acquire(), 60)
    grown = time.monotonic()
    await asyncio.to_thread(grow)
    reader, _ = await ask(port, "/api/run?run=run")
    await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    answered = time.monotonic() - grown
    heard = await asyncio.wait_for(asyncio.gather(*quick), 60)
    await asyncio.wait_for(asyncio.gather(*slow), 60)
    used = psutil.Process(process.pid).memory_info().rss
    for _, writer in never:
        writer.close()
    return [one - grown for one in heard], answered, used


def test_nobody_waits_for_the_slow_ones(server, writer):
    """All hear of a new step, an answer comes at once, and memory stays bounded."""
    process, port = server

    def grow():
        writer.write(make_record(10, make_arrays(10)))
        writer.flush()

    heard, answered, used = asyncio.run(crowd(process, port, grow))
    print(f"heard within {max(heard):.1f} s, answered in {answered:.1f} s, {used / 1e6:.0f} MB")

    assert 49 == len(heard)
    assert used < 500e6


def test_who_never_reads_is_hung_up_on(server):
    """What was sent to it and not taken for so long is given up, by the system."""
    process, port = server

    async def wait():
        reader, writer = await ask(port, LARGE, limit=1, times=200)
        reader._transport.pause_reading()
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            await asyncio.sleep(1)
            if not [one for one in psutil.Process(process.pid).net_connections() if one.raddr]:
                return True
        writer.close()
        return False

    assert asyncio.run(wait())
