"""Names of metrics."""

from __future__ import annotations

#: Of metrics that are better the higher they are.
INCREASING_METRICS_REGEX = "^[a-zA-z]+-(auc|map)$"
