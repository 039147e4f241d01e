"""What becomes of requests when the way to the server is bad: nothing is lost, nothing is wrong."""

from __future__ import annotations

import os
import random
import threading
from collections import deque
from datetime import timedelta

import numpy as np
import pytest

from stepwatch.capture import Recorder
from stepwatch.capture.output import Output
from stepwatch.errors import StoreError
from stepwatch.model.record import TensorInfo
from stepwatch.model.steps import Mode
from stepwatch.store import objects, put_parts
from stepwatch.store.objects import PIECE_BYTES, S3Store
from stepwatch.trial import Trial
from tests.support.s3.fault_proxy import CUT, REFUSED, TRUNCATED, UNANSWERED, Fault, FaultProxy
from tests.support.s3.s3_bucket import bucket, s3

__all__ = ["bucket", "s3"]

pytestmark = pytest.mark.s3

KINDS = [
    Fault(REFUSED, 500),
    Fault(REFUSED, 503),
    Fault(REFUSED, 503, retry_after_s=1),
    Fault(REFUSED, 429),
    Fault(CUT),
    Fault(UNANSWERED),
    Fault(TRUNCATED),
]
SMALL = bytes(range(256)) * 40


@pytest.fixture
def proxy(bucket, s3, monkeypatch):
    """A way to the server on which nothing goes wrong yet; the bucket is reached by another."""
    with FaultProxy(s3["AWS_ENDPOINT_URL"], lambda *_: None) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


@pytest.fixture
def store(proxy, bucket):
    return S3Store(f"s3://{bucket.bucket}/run")


def once(*faults):
    """Return what makes these go wrong, one request each, and then nothing."""
    left = deque(faults)
    return lambda *_: left.popleft() if left else None


def at_random(seed, odds, kinds=KINDS):
    """Return what makes a part of all requests go wrong."""
    chance = random.Random(seed)
    return lambda *_: chance.choice(kinds) if chance.random() < odds else None


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: f"{fault.kind}-{fault.status}")
class TestOneFault:
    """Each kind, in each kind of request: the caller does not notice."""

    def test_what_is_put_is_there(self, store, proxy, bucket, fault):
        """It is sent again, whole."""
        proxy.fault = once(fault)
        store.put("key", SMALL)

        assert bucket.get("run/key") == SMALL
        assert len(proxy.seen) > 1

    @pytest.mark.parametrize("which", [0, 1, 2, 3])
    def test_what_is_put_in_pieces_is_there(self, store, proxy, bucket, fault, which):
        """Whichever of its requests goes wrong: the first, a piece, the last."""
        parts = [os.urandom(PIECE_BYTES), os.urandom(1000)]
        proxy.fault = once(*[None] * which, fault)
        put_parts(store, "key", parts)

        assert bucket.get("run/key") == b"".join(parts)
        assert len(proxy.seen) > 4

    def test_what_is_created_is_ours(self, store, proxy, bucket, fault):
        """Also when the answer that said so was lost."""
        proxy.fault = once(fault)

        assert store.create("key", SMALL)
        assert bucket.get("run/key") == SMALL

    def test_what_another_has_created_is_not_ours(self, store, proxy, bucket, fault):
        """However often we ask."""
        bucket.put("run/key", b"theirs")
        proxy.fault = once(fault)

        assert not store.create("key", SMALL)
        assert bucket.get("run/key") == b"theirs"

    def test_what_is_read_is_whole(self, store, proxy, bucket, fault):
        """All of it, a range, its size, and the list."""
        large = os.urandom(3 << 20)
        bucket.put("run/key", large)
        reads = (
            (large, lambda: store.get("key")),
            (large[1000:9000], lambda: store.get("key", 1000, 8000)),
            (len(large), lambda: store.size("key")),
            (["key"], lambda: store.list()),
        )
        for expected, read in reads:
            proxy.fault = once(fault)
            assert expected == read()

    def test_what_is_deleted_is_gone(self, store, proxy, bucket, fault):
        """It need not be there when it is asked for again."""
        bucket.put("run/key", SMALL)
        proxy.fault = once(fault)
        store.delete("key")

        assert "<Key>" not in bucket.list()


class TestManyFaults:
    def test_nothing_is_lost_or_changed(self, store, proxy, bucket):
        """A third of all requests goes wrong, in any way; every value arrives and comes back."""
        proxy.fault = at_random(1, 0.3)
        values = {f"{number:03}": random.Random(number).randbytes(5000) for number in range(60)}
        for key, value in values.items():
            store.put(key, value)

        assert list(values) == store.list()
        assert values == {key: store.get(key) for key in values}

    def test_racers_that_lose_answers_agree_on_the_winner(self, proxy, bucket):
        """Of four one creates each key, and the value is the winner's."""
        proxy.fault = at_random(2, 0.4, [Fault(UNANSWERED), Fault(TRUNCATED), Fault(REFUSED)])
        starts = [threading.Barrier(4, timeout=60) for _ in range(10)]
        won = [[] for _ in starts]

        def race(mine):
            store = S3Store(f"s3://{bucket.bucket}/run")
            for turn, start in enumerate(starts):
                start.wait()
                if store.create(f"{turn}", mine):
                    won[turn].append(mine)

        threads = [threading.Thread(target=race, args=(b"%d" % number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert won == [[bucket.get(f"run/{turn}")] for turn in range(10)]

    def test_a_server_that_comes_back_is_waited_for(self, store, proxy, bucket):
        """Once it has answered; what was to be put meanwhile is there."""
        store.put("before", b"")
        proxy.close()
        back = threading.Timer(6.0, proxy.open)  # longer than the library waits by itself
        back.start()
        store.put("while", SMALL)
        back.join()

        assert bucket.get("run/while") == SMALL

    @pytest.mark.parametrize("run_format", ["native", "smdebug"])
    def test_steps_wait_for_a_server_that_is_away_for_longer(
        self, proxy, bucket, monkeypatch, run_format
    ):
        """Longer than a request is sent again: none is lost, and they come in their order."""
        monkeypatch.setattr(objects, "PATIENCE_S", 0.0)
        url = f"s3://{bucket.bucket}/waiting"
        recorder = Recorder(url, output=Output(format=run_format))
        for go in (lambda: None, proxy.close, lambda: None, proxy.open):
            go()
            for _ in range(10):
                loss = TensorInfo("loss", "losses", "float32", ())
                recorder.open_step(Mode.TRAIN).add(loss, np.float32(recorder.num_steps))
                recorder.end_step(Mode.TRAIN)
            recorder.store_steps(60)
        end = recorder.close()
        trial = Trial(url)

        assert (0, "") == (end.dropped, end.lost)
        assert list(range(40)) == trial.steps()
        assert [*range(40)] == trial.tensor("loss").statistics()["mean"].tolist()

    def test_silence_is_no_answer(self, proxy, bucket, monkeypatch):
        """A server that takes a request and says nothing is asked again after a time."""
        monkeypatch.setitem(objects.CLIENT, "read_timeout", timedelta(seconds=0.5))
        store = S3Store(f"s3://{bucket.bucket}/run")
        for ask in (lambda: store.put("key", SMALL), lambda: store.create("new", SMALL)):
            proxy.fault = once(Fault(delay_s=5.0))
            ask()
        proxy.fault = once(Fault(delay_s=5.0))

        assert SMALL == store.get("key")

    def test_a_value_that_is_replaced_while_it_is_read_is_one_of_both(self, store, proxy, bucket):
        """What was cut off is not completed from another value."""
        bucket.put("run/key", b"o" * 3_000_000)

        def replaced(*_):
            if len(proxy.seen) == 1:
                return Fault(TRUNCATED)
            bucket.put("run/key", b"n" * 3_000_000)
            return None

        proxy.seen.clear()
        proxy.fault = replaced

        assert b"n" * 3_000_000 == store.get("key")

    def test_patience_ends(self, store, proxy, monkeypatch):
        """With one line that names the server and what it says."""
        monkeypatch.setattr(objects, "PATIENCE_S", 0.0)
        monkeypatch.setattr(objects, "FIRST_PATIENCE_S", 0.0)
        proxy.seen.clear()
        proxy.fault = lambda *_: Fault(REFUSED, 503)
        with pytest.raises(StoreError) as caught:
            store.put("key", SMALL)

        assert f"cannot write key in {store.url}: {proxy.endpoint} answers 503" == str(caught.value)
        assert len(proxy.seen) <= 1 + objects.RETRIES["max_retries"]

    def test_a_slow_way_costs_one_round_trip_to_see_what_is_new(self, store, proxy, bucket):
        """However much is there, what sorts after a key is one request."""
        for number in range(1200):
            bucket.put(f"run/a/{number:05}", b"")
        proxy.fault = lambda *_: Fault(delay_s=0.1)
        proxy.seen.clear()

        assert ["a/01199"] == store.list("a/", after="a/01198")
        assert [] == store.list("b/")
        assert 10 == len(store.list("a/0000"))
        assert 3 == len(proxy.seen)
