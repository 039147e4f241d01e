"""What a script fits to its training data, and once more to what it evaluates.

``pandas.factorize`` numbers categories by which comes first, and an encoder by what it was fitted
on: called on the training data and again on those of the test, it gives one city two codes, and
the model takes each for another one. A scaler that is fitted twice makes two numbers of one. Which
call is for which data is in no argument; it is in what the script calls things, where it calls.
"""

from __future__ import annotations

import linecache
import math
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ..model.record import TensorInfo
from ..numerics.measures import Floats
from .patching import PatchSet
from .script import is_script, variables_of

#: Of more categories nothing is kept. Of fewer than these that both calls know nothing is said, nor
#: of less than this share of those of the smaller one; so many of them have another code.
_MOST_VALUES, _LEAST_SHARED, _SHARED, _MOVED = 20_000, 2, 0.5, 0.1
#: More calls for one column are numbers within groups, graphs or sessions, and mean nothing beyond.
_MOST_CALLS, _MOST_OF_PLACE = 6, 300
#: So many functions of the script that lead here are looked at.
_MOST_FRAMES = 4
#: An example longer than this is cut.
_LONGEST = 30
_COLLECTION = "evaluations"
#: What scalers take away, and divide by; a feature by so much of its scale elsewhere is another.
_SCALERS = {
    "StandardScaler": ("mean_", "scale_"),
    "MinMaxScaler": ("data_min_", "data_range_"),
    "RobustScaler": ("center_", "scale_"),
}
_SHIFTED = 0.1
_OURS = __name__.partition(".")[0]

_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# ``X_te``, ``df_va``: of two letters only behind one of these.
_SHORT = re.compile(r"\b(?:[xy]|df|data)_?(te|va|tr)\b", re.IGNORECASE)
# What people call data that a model is evaluated on, and those that it is trained on.
_EVALUATED = frozenset(
    _WORD.findall(
        "test tests tst testing val valid valids validation eval evaluation holdout heldout dev"
        " unseen shortte shortva"
    )
)
_TRAINED = frozenset(_WORD.findall("train trn training shorttr"))
# And data that come later, where others are said to be trained on.
_LATER = frozenset(
    _WORD.findall(
        "new future later latest incoming live score scoring serve serving infer inference"
        " submission production"
    )
)
# Codes of these are compared with each other only, or seen only.
_WITHIN = frozenset(
    _WORD.findall(
        "group groups qid qids session sessions fold folds cluster clusters color colors colour hue"
        " plot scatter ax strat strata stratify graph graphs node nodes edge edges"
    )
)
_ROLES = _EVALUATED | _TRAINED | {"te", "va", "tr"}


class _Called:
    """What was fitted by a call of the script."""

    __slots__ = ()
    #: What the script calls things where it called: see ``_words``.
    words: frozenset[str]

    @property
    def is_trained(self) -> bool:
        return bool(self.words & _TRAINED)

    @property
    def is_evaluated(self) -> bool:
        return bool(self.words & _EVALUATED)

    def is_evaluated_after(self, other: _Called) -> bool:
        """Return whether this is of what is evaluated, and the other is not."""
        if other.is_evaluated and not other.is_trained:
            return False  # as for validation and test
        is_later = other.is_trained and not self.is_trained and bool(self.words & _LATER)
        return self.is_evaluated or is_later


@dataclass(frozen=True, slots=True)
class Encoding(_Called):
    """The codes that one call gave to categories.

    Args:
        codes: By category.
        words: Of the call.
    """

    codes: Mapping[Any, int]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Scaling(_Called):
    """What one call made a scaler take from each feature, and divide it by.

    Args:
        centers: What is taken away, shape ``[features]``,
        scales: and what the rest is divided by.
        words: Of the call.
    """

    centers: Floats
    scales: Floats
    words: frozenset[str]


class Rescaled(NamedTuple):
    """A feature that is scaled otherwise in evaluation.

    Args:
        feature: Its index.
        shift: By how much its center is elsewhere, in scales of the training.
        ratio: How many times as large its scale is.
    """

    feature: int
    shift: float
    ratio: float


class Recoded(NamedTuple):
    """A category that has another code in evaluation.

    Args:
        example: The category.
        before: Its code in the data that are trained on.
        now: In those that are evaluated.
        share: Of the categories that both know so many have another code.
    """

    example: str
    before: int
    now: int
    share: float


def compared(trained: Encoding, evaluated: Encoding) -> Recoded | None:
    """Return what was encoded anew; ``None`` where codes are the same, or are not to be compared.

    Example:
        >>> train = Encoding({"Berlin": 0, "Rome": 1}, frozenset({"train"}))
        >>> test = Encoding({"Rome": 0, "Berlin": 1}, frozenset({"test"}))
        >>> compared(train, test)
        Recoded(example='Berlin', before=0, now=1, share=1.0)
        >>> compared(train, train) is None
        True
    """
    if not evaluated.is_evaluated_after(trained):
        return None
    shared = [value for value in trained.codes if value in evaluated.codes]
    least = min(len(trained.codes), len(evaluated.codes))
    if len(shared) < max(_LEAST_SHARED, _SHARED * least):
        return None
    moved = [value for value in shared if trained.codes[value] != evaluated.codes[value]]
    if len(moved) < _MOVED * len(shared):
        return None
    before, now = trained.codes[moved[0]], evaluated.codes[moved[0]]
    return Recoded(_shown(moved[0]), before, now, len(moved) / len(shared))


def rescaled(trained: Scaling, evaluated: Scaling) -> Rescaled | None:
    """Return the feature that is scaled the most otherwise; ``None`` where none is to speak of.

    Example:
        >>> train = Scaling(np.array([2.0, 5]), np.ones(2), frozenset({"train"}))
        >>> test = Scaling(np.array([2.0, 6]), np.ones(2), frozenset({"test"}))
        >>> rescaled(train, test)
        Rescaled(feature=1, shift=1.0, ratio=1.0)
        >>> rescaled(train, train) is None
        True
    """
    is_later = evaluated.is_evaluated_after(trained) and not evaluated.is_trained
    if not is_later or trained.centers.shape != evaluated.centers.shape:
        return None
    with np.errstate(all="ignore"):  # a feature that is always the same has no scale
        shifts = (evaluated.centers - trained.centers) / trained.scales
        ratios = evaluated.scales / trained.scales
        off = np.maximum(abs(shifts) / _SHIFTED, abs(np.log(ratios)) / math.log1p(_SHIFTED))
    off = np.where(np.isfinite(off), off, 0.0)
    worst = int(off.argmax())
    return Rescaled(worst, float(shifts[worst]), float(ratios[worst])) if off[worst] > 1 else None


class Encodings:
    """Watches what gives categories their codes, in pandas and scikit-learn, once these are there.

    What a script calls is watched, and not what these or other packages call.
    """

    def __init__(self) -> None:
        self._replaced = PatchSet()
        # By what a column is called; ``None`` for those of which there were too many.
        self._known: dict[str, list[Encoding] | None] = {}
        self._places: dict[tuple[str, int], int] = {}
        self._found: dict[str, Recoded] = {}
        self._scalings: dict[tuple[str, int], list[Scaling]] = {}
        self._rescaled: dict[str, Rescaled] = {}

    def begin(self) -> None:
        """Watch the packages that were imported, and those that will be."""
        watched = {
            "pandas": self._watch_pandas,
            "sklearn.preprocessing._label": self._watch_labels,
            "sklearn.preprocessing._encoders": self._watch_columns,
            "sklearn.preprocessing._data": self._watch_scalers,
        }
        for name, ours in watched.items():
            self._replaced.when_imported(name, ours)

    def end(self) -> None:
        """Watch nothing any more."""
        self._replaced.remove()

    def found(self) -> Iterator[tuple[TensorInfo, Any]]:
        """Yield what was found since it was asked last, as tensors of a step."""
        while self._found:
            column, one = self._found.popitem()
            for what, value in (("", one.share), ("_before", one.before), ("_now", one.now)):
                name = f"evaluation/recoded{what}/{column}/{one.example}"
                yield TensorInfo(name, _COLLECTION, "float64", ()), np.asarray(float(value))
        while self._rescaled:
            scaler, other = self._rescaled.popitem()
            for what, value in (("", other.shift), ("_ratio", other.ratio)):
                name = f"evaluation/rescaled{what}/{scaler}/{other.feature}"
                yield TensorInfo(name, _COLLECTION, "float64", ()), np.asarray(float(value))

    def add_scaling(self, scaler: str, centers: Any, scales: Any, frame: FrameType) -> None:
        """Note what a scaler was fitted to.

        Args:
            scaler: The name of its class.
            centers: Of the features, shape ``[features]``,
            scales: and theirs.
            frame: Where the script calls.
        """
        words = frozenset(_words(frame))
        known = self._scalings.setdefault((scaler, len(centers)), [])
        if words & _WITHIN or len(known) >= _MOST_CALLS:
            return
        now = Scaling(np.asarray(centers, np.float64), np.asarray(scales, np.float64), words)
        for one in known:
            found = rescaled(one, now)
            if found is not None:
                self._rescaled.setdefault(scaler, found)
        known.append(now)

    def add(self, column: str, values: Any, frame: FrameType | None) -> None:
        """Note the categories of a column in the order of their codes.

        Args:
            column: What it is called; ``""`` where that is not known.
            values: Shape ``[categories]``.
            frame: Where the script calls.
        """
        if frame is None or not 0 < len(values) <= _MOST_VALUES:
            return
        place = frame.f_code.co_filename, frame.f_lineno
        self._places[place] = self._places.get(place, 0) + 1
        words = frozenset(_words(frame)) if self._places[place] <= _MOST_OF_PLACE else _WITHIN
        if words & _WITHIN:
            return
        line = linecache.getline(*place).strip()
        # Without a name, what is alike on the line but for what it is for.
        key = column or " ".join(sorted(_split(line) - _ROLES))
        before = self._known.setdefault(key, [])
        if before is None or len(before) == _MOST_CALLS:
            self._known[key] = None
            return
        now = Encoding({value: code for code, value in enumerate(_plain(values))}, words)
        for one in before:
            found = compared(one, now) or compared(now, one)
            if found is not None:
                self._found.setdefault(_shown(column or line), found)
        before.append(now)

    # What is watched

    def _watch_pandas(self) -> None:
        pandas = sys.modules["pandas"]
        self._put(pandas, "factorize", _factorized)
        for owner in (pandas.Series, pandas.Index):
            self._put(owner, "factorize", _factorized)
        self._put_codes(pandas.Categorical, lambda one: ("", one.categories))
        accessor = sys.modules["pandas.core.arrays.categorical"].CategoricalAccessor
        self._put_codes(
            accessor,
            lambda one: (str(one._name or ""), one._parent.categories),
        )

    def _watch_labels(self) -> None:
        encoder = sys.modules["sklearn.preprocessing._label"].LabelEncoder
        for name in ("fit", "fit_transform"):
            self._put(encoder, name, _fitted_labels)

    def _watch_columns(self) -> None:
        encoder = sys.modules["sklearn.preprocessing._encoders"].OrdinalEncoder
        self._put(encoder, "fit", _fitted_columns, through=("sklearn", "joblib"))  # of a pipeline

    def _watch_scalers(self) -> None:
        module = sys.modules["sklearn.preprocessing._data"]
        for name, (center, scale) in _SCALERS.items():

            def note(
                frame: FrameType, _: Any, one: Any, *__: Any, of: Any = (center, scale)
            ) -> None:
                centers, scales = (getattr(one, attribute, None) for attribute in of)
                if centers is not None and scales is not None and len(centers) > 1:
                    self.add_scaling(type(one).__name__, centers, scales, frame)

            self._call_after(getattr(module, name), "fit", note, ("sklearn", "joblib"))

    def _put(
        self,
        owner: Any,
        name: str,
        read: Callable[..., Mapping[str, Any]],
        through: Collection[str] = (),
    ) -> None:
        """Watch what gives categories their codes.

        Args:
            owner: What holds the function.
            name: Its name there.
            read: Returns the categories by column from what it returned and its arguments.
            through: The packages by which the script may call it; by default itself.
        """

        def note(frame: FrameType, returned: Any, *args: Any, **named: Any) -> None:
            for column, values in read(returned, *args, **named).items():
                self.add(column, values, frame)

        self._call_after(owner, name, note, through)

    def _call_after(
        self, owner: Any, name: str, note: Callable[..., None], through: Collection[str]
    ) -> None:
        """Watch a function of a package: ``note`` is given where the script calls it, and all."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **named: Any) -> Any:
                returned = original(*args, **named)
                with suppress(Exception):  # the script goes on with what it asked for
                    frame = _calling_script(through)
                    if frame is not None:
                        note(frame, returned, *args, **named)
                return returned

            return call

        if hasattr(owner, name):
            self._replaced.put(owner, name, make)

    def _put_codes(self, owner: Any, read: Callable[[Any], tuple[str, Any]]) -> None:
        """Have ``read`` tell the categories whose codes are asked for."""
        original = vars(owner).get("codes")
        if not isinstance(original, property) or original.fget is None:
            return
        get = original.fget

        def codes(one: Any) -> Any:
            caller = sys._getframe(1)
            if is_script(caller.f_code.co_filename):
                with suppress(Exception):
                    self.add(*read(one), caller)
            return get(one)

        ours = property(codes, doc=original.__doc__)

        def remove() -> None:
            if vars(owner).get("codes") is ours:
                owner.codes = original

        owner.codes = ours
        self._replaced.add(remove)


def _factorized(returned: Any, values: Any = (), *_: Any, **__: Any) -> Mapping[str, Any]:
    _, categories = returned
    if getattr(categories, "dtype", None) is not None and categories.dtype.kind in "fcmM":
        return {}
    return {_column_of(values): categories}


def _fitted_labels(_: Any, encoder: Any, y: Any = (), *__: Any, **___: Any) -> Mapping[str, Any]:
    return {_column_of(y): encoder.classes_}


def _fitted_columns(_: Any, encoder: Any, *__: Any, **___: Any) -> Mapping[str, Any]:
    names = getattr(encoder, "feature_names_in_", range(len(encoder.categories_)))
    return {str(name): values for name, values in zip(names, encoder.categories_, strict=True)}


def _shown(value: object) -> str:
    """Return a text that may be a part of a tensor's name."""
    text = str(value).replace("/", "\N{DIVISION SLASH}")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _column_of(values: Any) -> str:
    name = getattr(values, "name", None)
    return "" if name is None else str(name)


def _plain(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _calling_script(through: Collection[str]) -> FrameType | None:
    """Return where the script calls, if nothing else stands between than us and these packages."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package != _OURS and package not in through:
            break
        frame = frame.f_back
    is_direct = frame is not None and is_script(frame.f_code.co_filename)
    return frame if is_direct else None


def _split(text: str) -> set[str]:
    short = (f"short{found.lower()}" for found in _SHORT.findall(text))
    return {word.lower() for word in _WORD.findall(text)} | set(short)


def _called(frame: FrameType, line: str) -> str:
    """Return the line on which a frame stands, or of several calls on it the one that it is in.

    As in ``x, x_test = scale(x), scale(x_test)``; where the call alone does not say what it is for,
    the line does. Python tells where a call is since 3.11.
    """
    positions = frame.f_code.co_positions() if sys.version_info >= (3, 11) else ()
    first, last, begin, end = next(
        islice(positions, frame.f_lasti // 2, None), (None, None, None, None)
    )
    if first != last or begin is None or end is None:
        return line
    call = line.encode()[begin:end].decode(errors="replace")
    return line if _ROLES.isdisjoint(_split(call)) else call


def _words(frame: FrameType | None) -> Iterator[str]:
    """Yield what the script calls things on the lines that lead here, and the same by other names.

    ``for df in (train, test):`` has two names for each, and ``def load(split):`` one in a text.
    """
    most = _MOST_FRAMES
    while frame is not None and most:
        if is_script(frame.f_code.co_filename):
            most -= 1
            whole = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            line = _called(frame, whole)
            yield from _split(line)
            yield from _split(whole) & _WITHIN
            variables = variables_of(frame)
            named = set(_NAME.findall(line))
            held = [value for name, value in variables.items() if name in named]
            for value in held:
                if isinstance(value, str) and len(value) <= _LONGEST:
                    yield from _split(value)
            shown = {id(value) for value in held if hasattr(value, "shape") or type(value) is list}
            for name, value in variables.items():
                if id(value) in shown:
                    yield from _split(name)
        frame = frame.f_back
