"""The checksum of TFRecord files: by the processor, by tables, and in Python."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

from stepwatch.formats.smdebug.wire import masked_crc
from stepwatch.numerics import digest
from stepwatch.numerics.digest import crc32c_in_numpy, crc32c_in_python

_kernel = pytest.importorskip("stepwatch._kernel")
WAYS = {
    "processor": _kernel.crc32c,
    "tables": lambda data, start=0: _kernel.crc32c(data, start, True),
    "python": crc32c_in_python,
}
BIG = np.random.default_rng(0).bytes(5000)


@pytest.fixture(params=WAYS)
def crc32c(request):
    return WAYS[request.param]


class TestCrc32c:
    @pytest.mark.parametrize(
        ("data", "checksum"),
        [
            (b"", 0x00000000),
            (b"123456789", 0xE3069283),
            (bytes(32), 0x8A9136AA),
            (b"\xff" * 32, 0x62A8AB43),
            (bytes(range(32)), 0x46DD794E),
            (bytes(reversed(range(32))), 0x113FDB5C),
        ],
    )
    def test_checksums_of_the_standard_come_out(self, crc32c, data, checksum):
        """RFC 3720, B.4, and the check value of the polynomial."""
        assert hex(checksum) == hex(crc32c(data))

    @given(st.integers(0, 200), st.integers(0, 300))
    def test_every_way_gives_the_same(self, start, size):
        """At every alignment and length, short rests included."""
        data = memoryview(BIG)[start : start + size]
        assert 1 == len({way(data) for way in WAYS.values()})

    @pytest.mark.slow
    @given(st.integers(0, 200), st.integers(0, len(BIG)), st.integers(0, 2**32 - 1))
    def test_numpy_gives_the_same_of_any_length(self, start, size, before):
        """Of no lane, of several and a rest, and from where something came before."""
        data = BIG[start : start + size]
        found = crc32c_in_numpy(np.frombuffer(data, np.uint8), before) if data else before

        assert _kernel.crc32c(data, before) == found

    def test_without_a_kernel_the_same_comes_out(self, monkeypatch):
        """Files are read wherever Stepwatch was installed."""
        monkeypatch.setattr(digest, "kernel", None)

        assert _kernel.crc32c(BIG) == digest.crc32c(BIG)
        assert 0 == digest.crc32c(b"")
        assert 7 == digest.crc32c(b"", 7)

    @given(st.integers(0, 40))
    def test_it_goes_on_from_what_came_before(self, cut):
        """The checksum of a whole is that of its rest, started from that of its beginning."""
        data = BIG[:40]
        for way in WAYS.values():
            assert way(data) == way(data[cut:], way(data[:cut]))

    @pytest.mark.parametrize("make", [bytes, bytearray, memoryview, np.array])
    def test_any_bytes_are_taken(self, crc32c, make):
        """Whatever holds them."""
        assert 0xE3069283 == crc32c(make(bytearray(b"123456789")))

    @pytest.mark.parametrize("wrong", ["text", 3, None])
    def test_what_is_no_bytes_is_refused(self, crc32c, wrong):
        """By name."""
        with pytest.raises(TypeError):
            crc32c(wrong)

    def test_a_wrong_call_is_refused(self):
        """As every function does."""
        for arguments in ((), (b"", 0, True, 3)):
            with pytest.raises(TypeError, match="1 to 3 arguments"):
                _kernel.crc32c(*arguments)

    @given(st.binary(max_size=100))
    def test_masked_it_is_that_of_tensorboard(self, data):
        """Of any bytes."""
        assert masked_crc32c(data) == masked_crc(data)

    def test_others_may_run_meanwhile(self):
        """A large value is summed without the lock of the interpreter."""
        data, ran, go = bytes(1 << 28), [], threading.Event()
        thread = threading.Thread(target=lambda: go.wait() and ran.append(None))
        thread.start()
        before = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # the other thread runs only where it is let
        try:
            go.set()
            _kernel.crc32c(data)
            during = len(ran)
        finally:
            sys.setswitchinterval(before)
            thread.join()
        assert during
