"""smdebug's event messages in the real runtime of protocol buffers: the oracle of our encoding.

The descriptors are made here and not compiled from a file, in a pool of their own: TensorBoard
brings messages of the same shape under other names.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_DOUBLE, _FLOAT, _INT64, _INT32 = 1, 2, 3, 5
_BOOL, _STRING, _MESSAGE, _BYTES, _UINT32, _ENUM = 8, 9, 11, 12, 13, 14
_PACKAGE = "oracle"

# Of each message: name, number, type (the name of a message for one), and whether it repeats.
_MESSAGES: dict[str, list[tuple[str, int, int | str, bool]]] = {
    "PluginData": [("plugin_name", 1, _STRING, False), ("content", 2, _STRING, False)],
    "SummaryMetadata": [("plugin_data", 1, "PluginData", True)],
    "Dim": [("size", 1, _INT64, False), ("name", 2, _STRING, False)],
    "TensorShape": [("dim", 2, "Dim", True), ("unknown_rank", 3, _BOOL, False)],
    "Tensor": [
        ("dtype", 1, _INT32, False),
        ("tensor_shape", 2, "TensorShape", False),
        ("version_number", 3, _INT32, False),
        ("tensor_content", 4, _BYTES, False),
        ("float_val", 5, _FLOAT, True),
        ("double_val", 6, _DOUBLE, True),
        ("int_val", 7, _INT32, True),
        ("string_val", 8, _BYTES, True),
        ("scomplex_val", 9, _FLOAT, True),
        ("int64_val", 10, _INT64, True),
        ("bool_val", 11, _BOOL, True),
        ("dcomplex_val", 12, _DOUBLE, True),
        ("half_val", 13, _INT32, True),
    ],
    "Histogram": [
        ("min", 1, _DOUBLE, False),
        ("max", 2, _DOUBLE, False),
        ("num", 3, _DOUBLE, False),
        ("sum", 4, _DOUBLE, False),
        ("sum_squares", 5, _DOUBLE, False),
        ("bucket_limit", 6, _DOUBLE, True),
        ("bucket", 7, _DOUBLE, True),
    ],
    "Value": [
        ("tag", 1, _STRING, False),
        ("simple_value", 2, _FLOAT, False),
        ("histo", 5, "Histogram", False),
        ("node_name", 7, _STRING, False),
        ("tensor", 8, "Tensor", False),
        ("metadata", 9, "SummaryMetadata", False),
    ],
    "Summary": [("value", 1, "Value", True)],
    "Event": [
        ("wall_time", 1, _DOUBLE, False),
        ("step", 2, _INT64, False),
        ("file_version", 3, _STRING, False),
        ("summary", 5, "Summary", False),
    ],
}


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="oracle.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeats in fields:
            added = message.field.add(
                name=field,
                number=number,
                type=_MESSAGE if isinstance(kind, str) else kind,
                label=_Field.LABEL_REPEATED if repeats else _Field.LABEL_OPTIONAL,
            )
            if isinstance(kind, str):
                added.type_name = f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


MESSAGES = _classes()
#: The message that is framed as a record.
Event = MESSAGES["Event"]
