"""The records of an event file: protocol buffers, framed with the checksum of their content."""

from __future__ import annotations

from ..smdebug.wire import bytes_field, double_field, float_field, frame, varint_field

# The fields of the messages.
_WALL_TIME, _STEP, _FILE_VERSION, _SUMMARY = 1, 2, 3, 5
_VALUE = 1
_TAG, _SIMPLE_VALUE, _HISTOGRAM = 1, 2, 5


def version_record(seconds: float) -> bytes:
    """Return the record that an event file begins with.

    Args:
        seconds: When it was begun, since the Unix epoch.
    """
    return frame(double_field(_WALL_TIME, seconds) + bytes_field(_FILE_VERSION, b"brain.Event:2"))


def summary_record(seconds: float, step: int, values: bytes) -> bytes:
    """Return the record of what is shown of one step.

    Args:
        seconds: When the step ended, since the Unix epoch.
        step: Its number.
        values: Points and histograms, joined.
    """
    summary = bytes_field(_SUMMARY, values)
    return frame(double_field(_WALL_TIME, seconds) + varint_field(_STEP, step) + summary)


def point_prefix(tag: bytes) -> bytes:
    """Return what stands before the number in a point of the curve with this tag.

    The number follows as a little-endian float32 and ends the point.
    """
    point = bytes_field(_TAG, tag) + float_field(_SIMPLE_VALUE, 0.0)
    return bytes_field(_VALUE, point)[:-4]


def histogram_value(tag: bytes, histogram: bytes) -> bytes:
    """Return a histogram, a ``HistogramProto``, under this tag."""
    return bytes_field(_VALUE, bytes_field(_TAG, tag) + bytes_field(_HISTOGRAM, histogram))
