"""One round of boosting as a framework reports it, its trees as a table with a tensor a column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...numerics.measures import order_alike, rank_correlation
from ..observations import LEAST_COLUMNS, LEAST_ROWS

Array = npt.NDArray[np.generic]

#: So many rows of a set of data are looked at, from the first one on.
FIRST_ROWS = 4096
#: Of data of more numbers not all rows are looked at.
MOST_NUMBERS = 4_000_000
# Categories that are numbered by which comes first are so many, or more; and in fewer than this
# share of rows they go on as a counter does: to the same, the next or the first one.
_LEAST_CATEGORIES, _MOST_COUNTED = 7, 0.7
# Of groups of fewer sizes, values that stand in as many rows may count something else.
_LEAST_SIZES = 3
#: What nobody else evaluates is evaluated at every n-th round: it costs a pass over the data.
OWN_EVERY = 10
# Of the metrics of XGBoost, LightGBM, CatBoost and scikit-learn those that training makes smaller a
# little in each round. Not the share of errors, which stands still while a model improves, and
# nobody's own: which way that goes is not known.
_LOSSES = re.compile(
    r"(rmse|rmsle|mae|mape|mphe|m?logloss|[a-z]+-nloglik|gamma-deviance|quantile|expectile"
    r"|l1|l2|huber|fair|poisson|gamma|gamma_deviance|tweedie|binary_logloss|multi_logloss"
    r"|cross_entropy|cross_entropy_lambda|kullback_leibler"
    r"|log_loss|squared_error|absolute_error|exponential)(@.*)?"
    r"|(RMSE|RMSEWithUncertainty|MAE|MAPE|SMAPE|MSLE|Quantile|MultiQuantile|LogLinQuantile|Expectile"
    r"|Lq|Huber|LogCosh|Poisson|Tweedie|Logloss|CrossEntropy|MultiClass|MultiClassOneVsAll|MultiRMSE"
    r"|Cox|SurvivalAft|QueryRMSE|QuerySoftMax|PairLogit)(:.*)?"
)


@dataclass(frozen=True, slots=True)
class Metric:
    """The value of a metric on one set of data after a round.

    Args:
        data: Name of the data.
        metric: Name of the metric, such as ``rmse``.
        value: The mean over the folds in a cross-validation.
        spread: Standard deviation over the folds; ``None`` where there are none.
        trains: Whether the model is trained on this data.
    """

    data: str
    metric: str
    value: float
    spread: float | None = None
    trains: bool = False

    @property
    def name(self) -> str:
        return f"{self.data}-{self.metric}"

    @property
    def collection(self) -> str:
        """``losses`` if training ought to make it smaller in each round, else ``metrics``."""
        return "losses" if _LOSSES.fullmatch(self.metric) else "metrics"


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A set of data that a model is evaluated on; what is expensive is computed on demand.

    Args:
        trains: Whether the model is trained on it.
        labels: Returns its labels, shape ``[rows]``; empty where there are none.
        predictions: Returns the predictions of the model, shape ``[rows]``, or ``[rows, classes]``.
        groups: Returns the sizes of the groups of rows that are ranked among each other, one after
            the other, shape ``[groups]``; empty where there are none.
        columns: Returns what the model is given of the first rows, at most ``FIRST_ROWS``, by the
            name of the feature, shape ``[rows]``, nan where it is missing; empty if not known.
        whole: The same of all rows, if these are not too many.
        offsets: Returns what the script has the margin of each row begin with, shape ``[rows]``;
            empty where it gives nothing.
    """

    name: str
    trains: bool
    labels: Callable[[], Array]
    predictions: Callable[[], Array]
    groups: Callable[[], Array]
    columns: Callable[[], Mapping[str, Array]]
    whole: Callable[[], Mapping[str, Array]] = dict
    offsets: Callable[[], Array] = lambda: np.empty(0)


def table_columns(table: Any, names: Sequence[str]) -> Mapping[str, Array]:
    """Return all rows by feature, of a table of numpy or pandas that is not too large.

    Args:
        table: What a script gives for one; empty is returned for what is no such table.
        names: Of the features, where the table has none.
    """
    shape: Sequence[int] = getattr(table, "shape", ())
    if len(shape) != 2 or shape[0] * shape[1] > MOST_NUMBERS:
        return {}
    if isinstance(table, np.ndarray):
        return dict(zip(names, table.T, strict=True)) if table.dtype.kind in "fiu" else {}
    if not hasattr(table, "dtypes") or not hasattr(table, "columns"):
        return {}
    kinds = zip(table.columns, table.dtypes, strict=True)  # categories are left out
    chosen = [name for name, kind in kinds if isinstance(kind, np.dtype) and kind.kind in "fiu"]
    return {str(name): table[name].to_numpy() for name in chosen}


#: Tables of more columns are not looked at.
_MOST_BESIDE = 64


def columns_beside(columns: Mapping[str, Array], tables: Iterable[object]) -> Mapping[str, Array]:
    """Return what stands beside the columns of a table in another one, row by row.

    Such as the ids of queries, which are no features.

    Args:
        columns: Of all rows, shape ``[rows]`` each.
        tables: What may be tables of pandas. Those count of which some columns have the names of
            ``columns``, and the same values in the same order.
    """
    rows = len(next(iter(columns.values())))
    found: dict[str, Array] = {}
    for table in tables:
        shape: object = getattr(table, "shape", ())
        names: Any = getattr(table, "columns", None)
        if names is None or not isinstance(shape, tuple) or len(shape) != 2:  # it may be a class
            continue
        if shape[0] != rows or shape[1] > _MOST_BESIDE:
            continue
        held: dict[str, Any] = {str(name): table[name] for name in names}  # type: ignore[index]
        shared = held.keys() & columns.keys()
        if shared and all(np.array_equal(held[one].to_numpy(), columns[one]) for one in shared):
            others = {name: held[name].to_numpy() for name in held.keys() - shared}
            found |= {name: one for name, one in others.items() if one.dtype.kind in "fiu"}
    return found


def ordered_as(columns: Mapping[str, Array], labels: Array) -> list[str]:
    """Return the columns that put the rows in the very order of their labels; of a few none.

    Args:
        columns: Of the first rows, shape ``[rows]`` each.
        labels: Of all rows.
    """
    if labels.ndim != 1 or len(columns) < LEAST_COLUMNS:
        return []
    return [
        name
        for name, column in columns.items()
        if LEAST_ROWS <= len(column) <= len(labels)
        and order_alike(column.astype(np.float64), labels[: len(column)].astype(np.float64))
    ]


#: Of fewer rows ranks correlate like this by chance; and so many columns are against the data
#: where constraints stand in another order than the columns.
_LEAST_CONSTRAINED, _AGAINST, _LEAST_AGAINST = 400, 0.2, 2


def constrained_against(
    columns: Mapping[str, Array], labels: Array, constraints: str
) -> dict[str, float]:
    """Return the columns whose monotone constraint is against the data, where several are.

    Args:
        columns: Of the first rows, shape ``[rows]`` each.
        labels: Of all rows.
        constraints: What the model is trained with: 1, 0 or -1 for each column in order, or by the
            name or the number of a column.

    Returns:
        The rank correlation of each with the labels (Spearman), from -1 to 1.

    Example:
        >>> x = np.arange(400.0)
        >>> constrained_against({"area": x, "age": -x}, 3 * x, "(-1,1)")
        {'area': 1.0, 'age': -1.0}
        >>> constrained_against({"area": x, "age": -x}, 3 * x, "{'age': -1, 'area': 1}")
        {}
    """
    names = list(columns)
    pairs = re.findall(r"([^\s'\"{,]+)['\"]?\s*:\s*([-+]?1)\b", constraints)
    signs = {names[int(name)] if _is_place(name, names) else name: sign for name, sign in pairs}
    if not pairs:
        signs = dict(zip(names, re.findall(r"[-+]?\d+", constraints), strict=False))
    found = {}
    for name, sign in signs.items():
        column = columns.get(name, np.empty(0))
        if int(sign) and _LEAST_CONSTRAINED <= len(column) <= len(labels) and labels.ndim == 1:
            rank = rank_correlation(column, labels[: len(column)])
            if rank * int(sign) <= -_AGAINST:
                found[name] = rank
    return found if len(found) >= _LEAST_AGAINST else {}


def _is_place(name: str, names: Sequence[str]) -> bool:
    return name not in names and name.isdigit() and int(name) < len(names)


def numbered_by_appearance(column: Array) -> int:
    """Return how many categories are numbered by which comes first, as by ``pandas.factorize``.

    Args:
        column: Shape ``[rows]``, in the order of the table.

    Returns:
        0 where they are not, or are as few as come in order by chance, or count on from row to row.

    Example:
        >>> numbered_by_appearance(np.array([0, 1, 2, 1, 3, 4, 0, 5, 2, 6, 4, 1]))
        7
        >>> numbered_by_appearance(np.array([1, 0, 2, 1, 3, 4, 0, 5, 2, 6, 4, 1]))
        0
    """
    codes = column[np.isfinite(column)].astype(np.float64)
    seen: npt.NDArray[np.float64] = np.maximum.accumulate(codes) if len(codes) else codes
    # Each that is larger than all before it is the next one.
    if not len(codes) or codes[0] != 0 or not np.isin(np.diff(seen), (0, 1)).all():
        return 0
    if not np.array_equal(codes, np.round(codes)) or seen[-1] + 1 < _LEAST_CATEGORIES:
        return 0
    goes_on = np.isin(np.diff(codes), (0, 1)) | (codes[1:] == 0)
    return int(seen[-1]) + 1 if goes_on.mean() < _MOST_COUNTED else 0


def numbered(columns: Mapping[str, Array]) -> dict[str, tuple[Array, int]]:
    """Return the columns that are numbered by which category comes first, with how many it has."""
    found = {name: (column, numbered_by_appearance(column)) for name, column in columns.items()}
    return {name: pair for name, pair in found.items() if pair[1]}


def recoded(trained: Mapping[str, tuple[Array, int]], other: Mapping[str, Array]) -> dict[str, int]:
    """Return the columns whose categories two tables number each by its own first rows.

    The same numbers then stand for other categories. One that is a copy of the other's beginning
    is left out.

    Args:
        trained: See ``numbered``.
        other: The columns of the other table.

    Returns:
        How many categories ``other`` has, by column.
    """
    shared = {name: other[name] for name in trained if name in other}
    return {
        name: count
        for name, (column, count) in numbered(shared).items()
        if not _begin_alike(trained[name][0], column)
    }


def _begin_alike(one: Array, other: Array) -> bool:
    least = min(len(one), len(other))
    return np.array_equal(one[:least], other[:least], equal_nan=True)


def grouping(labels: Array, sizes: Array) -> dict[str, float]:
    """Return how labels differ between groups of rows, as numbers by name; empty for no groups.

    Args:
        labels: Shape ``[rows]``.
        sizes: Rows of each group, shape ``[groups]``.

    Returns:
        ``rows``, ``count`` (of groups), ``mean`` and ``std`` of the labels, and ``ratio``: the
        variance between groups over that within them, which is 1 for rows that are put together at
        random (the F of an analysis of variance).

    Example:
        >>> grouping(np.array([0.0, 1.0, 4.0, 5.0]), np.array([2, 2]))["ratio"]
        32.0
    """
    values = labels.astype(np.float64)
    held, begins = _places(sizes)
    rows, count = len(values), len(held)
    if values.ndim != 1 or not 1 < count < rows or held.sum() != rows:
        return {}
    means = np.add.reduceat(values, begins) / held
    between = float((held * (means - values.mean()) ** 2).sum())
    within = float(((values - values.mean()) ** 2).sum()) - between
    if not within > 0:
        return {}
    ratio = between / (count - 1) / (within / (rows - count))
    mean, std = float(values.mean()), float(values.std())
    return {"rows": rows, "count": count, "mean": mean, "std": std, "ratio": ratio}


def _places(sizes: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the sizes of the groups that have rows, and the first row of each."""
    held: npt.NDArray[np.int64] = sizes.astype(np.int64)[np.flatnonzero(sizes)]
    return held, np.cumsum(held) - held


def scattered(columns: Mapping[str, Array], sizes: Array) -> list[str]:
    """Return the columns with a value for each group of rows, whose rows lie in other groups.

    Args:
        columns: Of all rows, shape ``[rows]`` each.
        sizes: Rows of each group, shape ``[groups]``.

    Returns:
        Those whose values stand in as many rows as groups have, one by one, and not together.

    Example:
        >>> of_query = np.array([7.0, 8, 8, 9, 9, 9])
        >>> scattered({"budget": of_query[::-1], "right": of_query}, np.array([1, 2, 3]))
        ['budget']
    """
    held, begins = _places(sizes)
    if len(np.unique(held)) < _LEAST_SIZES:
        return []

    def is_scattered(column: Array) -> bool:
        counts = np.unique(column, return_counts=True)[1]
        has_one_for_each = np.array_equal(np.sort(counts), np.sort(held))
        return has_one_for_each and not np.array_equal(np.repeat(column[begins], held), column)

    rows = held.sum()
    return [
        name for name, column in columns.items() if len(column) == rows and is_scattered(column)
    ]


class Model(Protocol):
    """A boosted model after a round; each method may cost a pass over its trees.

    Results are empty for a model without trees. What the framework cannot compute raises.
    """

    #: How many classes it distinguishes; 0 for none, 2 for a probability.
    num_classes: int

    def hyperparameters(self) -> Mapping[str, str]:
        """Return the values it is trained with, as texts, by name."""

    def importances(self) -> Mapping[str, Array]:
        """Return the share of each feature that it uses, summing to 1.

        Returns:
            By ``<kind of importance>/<feature>``, float64, shape ``()``.
        """

    def trees(self) -> Mapping[str, Array]:
        """Return the trees of this round, one row for each node, by column."""

    def has_split(self) -> bool:
        """Return whether a tree of this round has a split; true for a model without trees."""

    def shap(self) -> Mapping[str, Array]:
        """Return what each feature adds to each prediction of the training data, and ``bias``.

        Returns:
            By feature, shape ``[rows]``, or ``[rows, classes]``.
        """


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """The model that a round has made better.

    Args:
        data: What it is evaluated on, and trained on.
        begins: Whether this is the first round of its training.
        stops_by: The metrics that end it early, as ``Metric.name``: -1 where less of it is taken
            for better, 1 for more.
        censored: Share of the rows of training whose event was not seen, only that it was not
            until then, or from then to then; ``None`` where no times of events are learnt.
        objective: What is known of an objective of the script, see ``Objective.known``; nothing
            where there is none, or it is not looked at any more.
    """

    model: Model
    data: Sequence[EvaluationSet]
    begins: bool
    stops_by: Mapping[str, float] = field(default_factory=dict)
    censored: float | None = None
    objective: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Round:
    """A round that is over.

    Args:
        number: From 0; the rounds of a model that is trained on go on counting.
        metrics: Of all data that were evaluated.
        shape: Rows and columns of the training data.
        trained: ``None`` for a cross-validation, which trains several models.
    """

    number: int
    metrics: Sequence[Metric]
    shape: tuple[int, int]
    trained: TrainedModel | None = None


def shares(kind: str, scores: Mapping[str, float]) -> dict[str, Array]:
    """Return scores of features divided by their sum, as ``Model.importances`` names them."""
    total = sum(scores.values()) or 1.0
    return {f"{kind}/{name}": np.asarray(score / total) for name, score in scores.items()}


#: What stands for a child, or a condition, that a leaf does not have.
MISSING = "nan"


class Node(NamedTuple):
    """One node of a tree.

    Args:
        tree: Number of its tree, from 0 over all rounds.
        node: Its number within the tree; the root is 0.
        feature: What it splits by; ``Leaf`` for none.
        split: The condition holds below this number; 0 for a leaf, and for categories.
        yes: Number of the child where the condition holds; -1 for none.
        no: Number of the other.
        missing: Number of that where the value is missing.
        gain: What the split gains; of a leaf its value.
        cover: The sum of the second derivatives that come here.
    """

    tree: int
    node: int
    feature: str = "Leaf"
    split: float = 0.0
    yes: int = -1
    no: int = -1
    missing: int = -1
    gain: float = 0.0
    cover: float = 0.0


def columns_of(nodes: Sequence[Node]) -> Mapping[str, npt.NDArray[np.generic]]:
    """Return the columns of a table of nodes, shape ``[nodes]`` each.

    Returns:
        ``Tree`` and ``Node`` are int64; ``Split``, ``Gain`` and ``Cover`` float64; ``ID``,
        ``Yes``, ``No`` and ``Missing`` texts such as ``0-3``, and ``Feature`` is one.
    """
    return {
        "Tree": np.array([one.tree for one in nodes], np.int64),
        "Node": np.array([one.node for one in nodes], np.int64),
        "ID": _ids((one.tree, one.node) for one in nodes),
        "Feature": np.array([one.feature for one in nodes], np.str_),
        "Split": np.array([one.split for one in nodes], np.float64),
        "Yes": _ids((one.tree, one.yes) for one in nodes),
        "No": _ids((one.tree, one.no) for one in nodes),
        "Missing": _ids((one.tree, one.missing) for one in nodes),
        "Gain": np.array([one.gain for one in nodes], np.float64),
        "Cover": np.array([one.cover for one in nodes], np.float64),
    }


def _ids(nodes: Iterable[tuple[int, int]]) -> npt.NDArray[np.str_]:
    return np.array([MISSING if at < 0 else f"{tree}-{at}" for tree, at in nodes], np.str_)
