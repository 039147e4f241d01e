"""``run.json``, end notes, and whether the process that wrote them still runs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.errors import CorruptRun, RunExists
from stepwatch.formats.manifest import VERSION, End, Manifest
from stepwatch.formats.native.writer import NativeWriter, join_run, start_run
from stepwatch.model.collection import Collection, parse_save
from stepwatch.model.save_policy import SavePolicy, Schedule
from stepwatch.runtime.process import identity, may_run
from stepwatch.store.memory import MemoryStore

FULL = Manifest(
    run_id="abc",
    started_ns=1_700_000_000_000_000_000,
    command=("train.py", "--lr", "0.1", "é"),
    host="machine",
    pid=42,
    process="boot pid:[1] 7",
    num_workers=8,
    versions={"python": "3.11", "torch": "2.9"},
    collections=(
        parse_save("gradients:raw:every=100,first=5,last=900"),
        parse_save("/relu|gelu/:raw:steps=1+5+9"),
        parse_save("buffers:none"),
        Collection("mine", ("a", "b$"), SavePolicy(None, Schedule(every=3))),
    ),
)


class TestManifest:
    @pytest.mark.parametrize("manifest", [FULL, Manifest("x", 0)], ids=["full", "least"])
    def test_comes_back_as_it_was(self, manifest):
        """Collections with their schedules included."""
        assert manifest == Manifest.from_json("run.json", manifest.to_json())

    def test_a_newer_version_is_refused_with_the_way_out(self):
        """Not as damage of some field, and not read by half."""
        data = json.dumps({"format": "stepwatch", "version": VERSION + 1, "runs": []}).encode()

        with pytest.raises(CorruptRun, match=r"a newer stepwatch wrote .* pip install --upgrade"):
            Manifest.from_json("run.json", data)

    def test_a_field_of_a_later_release_is_left_alone(self):
        """The version says whether a run can be read, not the fields."""
        values = json.loads(FULL.to_json()) | {"mood": "good"}

        assert FULL == Manifest.from_json("run.json", json.dumps(values).encode())

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"{",
            b"[]",
            b"7",
            b"{}",
            b'{"format": "parquet", "version": 1}',
            b'{"format": "stepwatch", "version": null}',
            FULL.to_json()[:-20],
            FULL.to_json().replace(b'"num_workers": 8', b'"num_workers": "8"'),
            FULL.to_json().replace(b'"pid": 42', b'"pid": null'),
            FULL.to_json().replace(b'"every": 100', b'"every": 0'),
        ],
    )
    def test_what_is_no_manifest_is_damage(self, data):
        """Named by its key."""
        with pytest.raises(CorruptRun) as caught:
            Manifest.from_json("run.json", data)
        assert "run.json" == caught.value.key


class TestEnd:
    def test_comes_back_as_it_was(self):
        """Losses and coverage included."""
        end = End("failed", 7, steps=3, dropped=2, failures=1, error="é", coverage="all")

        assert end == End.from_json("end/worker_0.json", end.to_json())

    @pytest.mark.parametrize("data", [b"", b"[]", b"7", b"{}", b'{"state": 1, "ended_ns": 2}'])
    def test_what_is_no_note_is_damage(self, data):
        """Named by its key."""
        with pytest.raises(CorruptRun, match=r"^end/worker_0.json is damaged"):
            End.from_json("end/worker_0.json", data)

    @given(st.binary(max_size=30))
    @settings(max_examples=100, deadline=None)
    def test_bytes_raise_nothing_but_our_errors(self, data):
        """Bytes from disk are distrusted."""
        with pytest.raises(CorruptRun):
            End.from_json("end/worker_0.json", data)


class TestClaim:
    @pytest.fixture
    def store(self, request):
        return MemoryStore(f"claim-{request.node.name}")

    def test_a_second_run_is_refused_and_nothing_changed(self, store):
        """The message says what to do."""
        start_run(store, FULL)

        with pytest.raises(RunExists, match="give another --run, or delete it"):
            start_run(store, Manifest("other", 0))
        assert FULL.to_json() == store.get("run.json")

    def test_a_worker_joins_the_run_of_its_job(self, store):
        """Before or after the first worker claimed it."""
        join_run(store, "worker_1", 8)
        start_run(store, FULL)
        join_run(store, "worker_1", 8)

    def test_a_worker_refuses_a_run_that_ended(self, store):
        """Its own job's first worker has not ended before it began."""
        start_run(store, FULL)
        NativeWriter(store, "worker_0").close(End("finished", 0))

        with pytest.raises(RunExists):
            join_run(store, "worker_1", 8)

    def test_a_worker_joins_though_another_has_ended(self, store):
        """Many processes on few processors: some are done before the last one begins."""
        start_run(store, FULL)
        NativeWriter(store, "worker_5").close(End("finished", 0))
        join_run(store, "worker_1", 8)

        with pytest.raises(RunExists):
            join_run(store, "worker_5", 8)

    def test_a_worker_refuses_a_run_of_another_size(self, store):
        """It is of an earlier job."""
        start_run(store, Manifest("single", 0))

        with pytest.raises(RunExists):
            join_run(store, "worker_1", 2)

    def test_a_worker_refuses_to_write_over_what_it_wrote(self, store):
        """The first worker may not have looked yet."""
        store.put("observations/worker_1/000000000000-000000000001.parquet", b"")

        with pytest.raises(RunExists):
            join_run(store, "worker_1", 8)


class TestMayRun:
    @pytest.fixture
    def dead(self):
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        recorded = identity(process.pid)
        process.communicate(b"\n")
        return process.pid, recorded

    def test_a_process_that_runs_may_run(self):
        """With its identity, or without one."""
        assert may_run(socket.gethostname(), os.getpid(), identity())
        assert may_run(socket.gethostname(), os.getpid(), "")

    def test_a_process_that_is_gone_does_not_run(self, dead):
        """With its identity, or without one."""
        pid, recorded = dead
        assert not may_run(socket.gethostname(), pid, recorded)
        assert not may_run(socket.gethostname(), pid, "")

    def test_of_another_machine_we_cannot_know(self, dead):
        """A false "died" would end what watches a run."""
        assert may_run("elsewhere", *dead)

    @pytest.mark.skipif(not identity(), reason="the system does not tell processes apart")
    def test_a_number_that_is_used_again_is_another_process(self, dead):
        """Our own number, with the identity of one that is gone."""
        assert not may_run(socket.gethostname(), os.getpid(), dead[1])

    @pytest.mark.skipif(not identity(), reason="the system does not tell processes apart")
    def test_before_a_reboot_is_gone_and_in_another_container_we_cannot_know(self, dead):
        """A container may share the name of its machine, not its process numbers."""
        boot, namespace, start = dead[1].split(" ")

        assert not may_run(socket.gethostname(), os.getpid(), f"before {namespace} {start}")
        assert may_run(socket.gethostname(), dead[0], f"{boot} pid:[1] {start}")

    @pytest.mark.skipif(not identity(), reason="the system does not tell processes apart")
    def test_a_zombie_does_not_run(self):
        """It ended; its parent has not asked yet."""
        process = subprocess.Popen([sys.executable, "-c", "print(input())"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        recorded = identity(process.pid)
        process.stdin.write(b"x\n")
        process.stdin.close()
        assert b"x\n" == process.stdout.read()  # at its end the process is gone, or about to be
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert not may_run(socket.gethostname(), process.pid, recorded)
        process.wait()
