"""The ring as transport: what one side writes the other reads, and nothing unread is lost."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from stepwatch.capture.black_box import FrameWriter
from stepwatch.errors import CorruptRun
from stepwatch.formats.blackbox import (
    LAYOUT_FRAME,
    MESSAGE_FRAME,
    STEP_FRAME,
    decode_frame,
    encode_frame,
    layout_of,
    step_record,
)
from stepwatch.formats.transport import MAILBOX_BYTES, ControlPage, RingFollower, SharedRing
from stepwatch.model.record import StepRecord
from stepwatch.testing import make_record

SIZE = 1 << 16


@pytest.fixture
def page(tmp_path):
    return ControlPage(tmp_path / "control", create=True)


@pytest.fixture
def ring(tmp_path, page):
    return SharedRing(tmp_path / "ring", SIZE, page, patience=0.05)


@pytest.fixture
def follower(ring):
    """A reader with a view of its own, as another process has."""
    return RingFollower(ring.path, ControlPage(ring.page.path, create=False))


def message(number, size=0):
    return encode_frame(MESSAGE_FRAME, {"number": number, "more": "x" * size}, {})


def numbers(follower):
    found = []
    while (whole := follower.read(MESSAGE_FRAME)) is not None:
        found.append(decode_frame("worker_0", whole).meta["number"])
    return found


def full_record(step, *, tensors=3, raw=()):
    """Return a step with all that one can hold."""
    values = {f"layer{n}.weight": np.full((2, 2), step + n, np.float32) for n in range(tensors)}
    record = make_record(step, values)
    return StepRecord(
        worker=record.worker,
        mode=record.mode,
        step=record.step,
        mode_step=record.mode_step,
        time_ns=record.time_ns,
        layout=record.layout,
        statistics=record.statistics,
        raw={name: values[name] for name in raw},
        digests={"layer0.weight": (1 << 64) - 1 - step},
        exponents={"layer1.weight": np.arange(5, dtype=np.int64) + step},
    )


def assert_same(one, other):
    for name in ("worker", "mode", "step", "mode_step", "time_ns", "digests"):
        assert getattr(one, name) == getattr(other, name)
    assert one.layout.tensors == other.layout.tensors
    np.testing.assert_array_equal(one.statistics, other.statistics)
    for name in ("raw", "exponents"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.keys() == theirs.keys()
        for key in ours:
            np.testing.assert_array_equal(ours[key], theirs[key])
            assert ours[key].dtype == theirs[key].dtype


class TestSteps:
    @pytest.mark.parametrize("raw", [(), ("layer0.weight", "layer2.weight")])
    def test_a_step_comes_back_whole(self, ring, follower, raw):
        """Statistics, full values, digests of all 64 bits, and exponents."""
        frames, layouts, found = FrameWriter(ring), {}, []
        sent = [full_record(step, tensors=3 + step % 2, raw=raw) for step in range(6)]
        for record in sent:
            assert frames.write_step(record, record.raw)
        while (whole := follower.read(STEP_FRAME, LAYOUT_FRAME)) is not None:
            frame = decode_frame("worker_0", whole)
            if frame.kind == LAYOUT_FRAME:
                layouts[frame.meta["layout"]] = layout_of(frame.meta)
            else:
                found.append(step_record(frame, layouts[frame.meta["layout"]]))

        assert [len(sent), 2] == [len(found), len(layouts)]
        for one, other in zip(sent, found, strict=True):
            assert_same(one, other)

    def test_layouts_are_found_by_who_begins_late(self, ring):
        """They may lie before what is read."""
        frames = FrameWriter(ring)
        frames.write_step(full_record(0), {})
        late = RingFollower(ring.path, ring.page, ring.written)

        assert [LAYOUT_FRAME] == [decode_frame("w", one).kind for one in late.layouts()]


class TestFollowing:
    def test_frames_come_in_order_while_the_ring_goes_round(self, ring, follower):
        """Each once, wherever it lies, and only those that are asked for."""
        found = []
        for number in range(500):
            assert ring.write(encode_frame("begin", {"number": number}, {}))
            assert ring.write(message(number, size=37 * (number % 50)))
            found += numbers(follower)
            ring.page.settled = follower.position

        assert list(range(500)) == found
        assert ring.written > 3 * SIZE

    def test_what_is_not_settled_is_never_written_over(self, ring, follower):
        """It is refused, soon; what was written before comes, and then there is room again."""
        written = [number for number in range(200) if ring.write(message(number, size=1000))]
        found = numbers(follower)
        assert not ring.write(message(-1, size=1000))
        ring.page.settled = follower.position

        assert written == found
        assert 50 < len(written) < 100
        assert ring.write(message(-1, size=1000))
        assert [-1] == numbers(follower)

    def test_who_waits_for_room_says_so_and_gets_it(self, ring, follower):
        """As soon as the other side has settled something."""
        ring.patience = 60

        def settle():
            while not follower._page.wants_room:
                pass
            numbers(follower)
            follower._page.settled = follower.position

        thread = threading.Thread(target=settle)
        thread.start()
        while not ring.page.wants_room:
            assert ring.write(message(0, size=1000))
        thread.join()

    def test_a_ring_that_nobody_follows_goes_round(self, ring):
        """As a black box does."""
        ring.is_followed = False

        assert all(ring.write(message(number, size=1000)) for number in range(200))

    def test_a_frame_larger_than_the_ring_is_refused_at_once(self, ring):
        """Nobody waits for what can never be."""
        ring.patience = 3600

        assert not ring.write([bytes(SIZE)])

    def test_a_damaged_frame_raises_corrupt_run(self, ring, follower, monkeypatch):
        """It is not taken for another."""
        monkeypatch.setattr("stepwatch.formats.transport._LATE_S", 0.0)
        ring.write(message(7, size=100))
        ring._bytes[ring.written - 5] ^= 1

        with pytest.raises(CorruptRun, match="damaged"):
            numbers(follower)

    def test_content_is_all_that_is_held(self, ring, follower):
        """The same to both sides."""
        for number in range(200):
            ring.write(message(number, size=1000))
            ring.page.settled = ring.written

        assert bytes(ring.content()) == bytes(follower.content())


class TestMailbox:
    def test_lines_come_as_they_were_posted_while_it_goes_round(self, page):
        """In pieces of any size."""
        other, sent, found = ControlPage(page.path, create=False), b"", b""
        for number in range(300):
            data = bytes([number % 256]) * (number * 17)
            assert len(data) == page.post(data)
            sent += data
            if number % 3 == 0:
                found += other.peek()
                other.collect(len(other.peek()))

        assert sent == found + other.peek()
        assert len(sent) > MAILBOX_BYTES

    def test_a_full_one_takes_what_fits(self, page):
        """And more once something was taken out."""
        assert MAILBOX_BYTES == page.post(bytes(2 * MAILBOX_BYTES))
        assert page.post(b"x") == 0
        assert page.has_mail
        page.collect(10)
        assert page.post(bytes(20)) == 10

    def test_the_last_message_is_there_whole_or_not_at_all(self, page):
        """And it is not longer than there is room for."""
        assert page.last_message == b""
        with pytest.raises(ValueError, match="are more than"):
            page.last_message = bytes(1 + (1 << 20))
        page.last_message = b"the end"

        assert ControlPage(page.path, create=False).last_message == b"the end"
