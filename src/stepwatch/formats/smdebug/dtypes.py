"""The dtypes of tensors in event files: those of TensorFlow, by number."""

from __future__ import annotations

import ml_dtypes
import numpy as np

#: What the numbers of TensorFlow's ``DataType`` are in numpy. Quantised ones are what they are
#: stored as.
DTYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    4: np.dtype(np.uint8),
    5: np.dtype(np.int16),
    6: np.dtype(np.int8),
    8: np.dtype(np.complex64),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
    11: np.dtype(np.int8),
    12: np.dtype(np.uint8),
    13: np.dtype(np.int32),
    14: np.dtype(ml_dtypes.bfloat16),
    15: np.dtype(np.int16),
    16: np.dtype(np.uint16),
    17: np.dtype(np.uint16),
    18: np.dtype(np.complex128),
    19: np.dtype(np.float16),
    22: np.dtype(np.uint32),
    23: np.dtype(np.uint64),
    24: np.dtype(ml_dtypes.float8_e5m2),
    25: np.dtype(ml_dtypes.float8_e4m3fn),
}
#: smdebug leaves the dtype of text unset.
UNSET, TEXT = 0, 7
#: Numbers from here on are references to the dtypes below them.
REFERENCES = 100
