"""What a watch has seen of a run, to say why a rule saw nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from weakref import WeakSet

from ..collection import BUILT_IN
from ..errors import nearest
from ..record import Layout
from ..steps import Mode
from .rule import NothingToJudge
from .scope import Watched
from .step_view import StepView

#: Collections that only some models have; of the others each training should have something.
OF_SOME = frozenset({"attention", "embeddings", "routing", "log_partition"})
#: Collections that a model of trees has.
OF_TREES = frozenset(
    {
        *("losses", "metrics", "scalars", "tensors", "predictions", "labels", "trees", "boosting"),
        *("hyperparameters", "feature_importance", "average_shap", "full_shap"),
    }
)
#: How many names are kept to suggest from.
MOST_NAMES = 10_000


class Seen:
    """Steps of each mode, their collections, and names of tensors.

    Args:
        names: Tensors that are known beforehand.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = dict.fromkeys(names)
        self._steps: dict[str, tuple[int, int, int]] = {}
        self._collections: dict[str, Counter[str]] = {}
        self._workers: dict[str, None] = {}
        self._in_parts: set[str] = set()
        self._layouts: dict[str, WeakSet[Layout]] = {}

    def add(self, step: StepView) -> None:
        """Take note of one step."""
        mode, number = step.mode.value, step.number
        count, first, _ = self._steps.get(mode, (0, number, number))
        self._steps[mode] = (count + 1, first, number)
        known = self._layouts.setdefault(mode, WeakSet())
        for record in step.records:
            if record.layout not in known:
                known.add(record.layout)
                self._workers[record.worker] = None
                self._add_layout(mode, record.layout)
                self._in_parts |= step.in_parts

    def why_nothing(self, watched: Watched) -> str:
        """Return why a rule was shown no step at all."""
        if not self._steps:
            return "the run has no steps; was the hook attached, and did training take a step?"
        if absent := self.absent(watched):
            return absent
        scope, needs = watched.scope, watched.rule.needs
        wanted = []
        if scope.mode:
            wanted.append(f"mode {scope.mode}")
        if scope.start_step or scope.end_step is not None:
            end = "" if scope.end_step is None else scope.end_step
            wanted.append(f"steps {scope.start_step}:{end}")
        if scope.workers:
            wanted.append(f"workers {', '.join(scope.workers)}")
        if needs:
            wanted.append(f"a tensor of {' or '.join(needs)}")
        text = f"no step had {', '.join(wanted)}; seen were {self._summary()}"
        unknown = [need for need in needs if need not in BUILT_IN]
        text += self.left_out(watched)
        return text + "".join(nearest(need, self._known()) for need in unknown) + self.hint(watched)

    def absent(self, watched: Watched) -> NothingToJudge | None:
        """Return what a rule needs, if only some models have it and none was seen."""
        needs = tuple(watched.rule.needs)
        seen = {name for counts in self._collections.values() for name in counts}
        if not (self._steps and needs and seen.isdisjoint(needs)):
            return None
        of_networks = "boosting" in seen and OF_TREES.isdisjoint(needs) and {*BUILT_IN} >= {*needs}
        if of_networks or OF_SOME.issuperset(needs):
            return NothingToJudge(f"no {' or '.join(needs)} in this model")
        return None

    def left_out(self, watched: Watched) -> str:
        """Return what of a rule's needs was not judged because parts were missing, or ``""``."""
        found = sorted(self._in_parts.intersection(watched.rule.needs or self._in_parts))
        if not found:
            return ""
        return (
            f"; not judged: {' and '.join(found)} of which other workers hold parts"
            "; stepwatch check RUN judges the whole"
        )

    def hint(self, watched: Watched) -> str:
        """Return the names closest to regular expressions that may be misspelled, or ``""``."""
        regexes = [watched.scope.include_regex, *getattr(watched.rule, "tensor_regex", ())]
        return "".join(nearest(regex, self._names) for regex in regexes if regex)

    def _add_layout(self, mode: str, layout: Layout) -> None:
        counts = self._collections.setdefault(mode, Counter())
        for collection, rows in layout.rows_of.items():
            counts[collection] = max(counts[collection], len(rows))
        if len(self._names) < MOST_NAMES:
            self._names.update(dict.fromkeys(tensor.name for tensor in layout.tensors))

    def _known(self) -> list[str]:
        return sorted({name for counts in self._collections.values() for name in counts})

    def _summary(self) -> str:
        parts = []
        for mode, (count, first, last) in self._steps.items():
            counts = self._collections.get(mode, Counter())
            held = ", ".join(f"{number} {name}" for name, number in counts.items())
            parts.append(f"{count} {mode} steps {first} to {last} with {held or 'nothing'}")
        return f"{'; '.join(parts)}; workers {', '.join(self._workers)}"


#: The number of the round that a step of boosting is.
ROUND = "boosting/round"


class Trained:
    """What is trained, to notice when it is another model than before."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._layouts: tuple[Layout, ...] = ()
        self._round = -1.0

    def is_another(self, step: StepView) -> bool:
        """Return whether nothing that has a gradient now had one at the last TRAIN step.

        In boosting it is another model once rounds are counted from the beginning.
        """
        if step.mode is Mode.TRAIN:
            for one in step.tensors("boosting"):
                if one.name == ROUND:
                    before, self._round = self._round, one.scalar
                    return before >= self._round
        layouts = tuple(record.layout for record in step.records)
        if step.mode is not Mode.TRAIN or layouts == self._layouts:
            return False
        names = {
            layout.tensors[row].name
            for layout in layouts
            for row in layout.rows_of.get("gradients", ())
        }
        another = bool(names) and bool(self._names) and not names & self._names
        self._names, self._layouts = names or self._names, layouts
        return another
