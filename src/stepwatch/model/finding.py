"""Findings: what a rule has to say, as plain data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from types import NoneType

from .html_text import html_table
from .json_text import parse_json
from .steps import TRAINS, train_step
from .titles import title_of

SEVERITIES = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that went wrong in training, at one step.

    It holds nothing that depends on when or where the rule ran, so that live and replay give
    the same bytes.

    Args:
        rule: The rule's name.
        step: The global step.
        tensor: The tensor it is about, the worst one where several are; ``""`` for none.
        message: What was measured, against what, where, since when.
        mode: The mode of the step.
        mode_step: The step as its mode counts it, which is what a training loop counts.
        onset: The global step at which it began; ``step`` confirmed it. ``None`` if that is not
            known.
        worker: Whose data it was.
        value: What was measured.
        threshold: What it was compared with.
        remedy: What to do next, one line.
        severity: One of ``SEVERITIES``.
        condition: Which of the rule's conditions was met; a condition that goes on being met is
            one episode and reported once. By default each tensor has its own.
        train_onset: The TRAIN step that people count by at ``onset``; see ``train_step``.
        evidence: More numbers and names, of JSON's types.
    """

    rule: str
    step: int
    tensor: str
    message: str
    mode: str = ""
    worker: str = ""
    value: float | None = None
    threshold: float | None = None
    remedy: str = ""
    severity: str = "warning"
    condition: str = ""
    mode_step: int | None = None
    onset: int | None = None
    train_onset: int | None = None
    evidence: Mapping[str, object] = field(default_factory=dict)

    @property
    def finding_id(self) -> str:
        """A name that is the same whenever the same rule finds the same thing."""
        what = (self.rule, self.step, self.tensor, self.worker, self.condition)
        return hashlib.blake2b(repr(what).encode(), digest_size=8).hexdigest()

    def headline(self) -> str:
        """Return one line that says what and where, with the name of the rule at its end.

        Example:
            >>> Finding("loss_spike", 7, "loss/mse_loss", "9 is far above 1").headline()
            'Loss spike, step 7: 9 is far above 1 (loss_spike)'
        """
        return f"{self.heading()}: {self.message} ({self.rule})"

    def lines(self) -> list[str]:
        """Return it as lines: what, where and the rule, then what was seen and what to do.

        Example:
            >>> Finding("loss_spike", 7, "loss/mse_loss", "9 is far above 1").lines()
            ['Loss spike, step 7 (loss_spike)', '9 is far above 1']
        """
        return [
            f"{self.heading()} ({self.rule})",
            *filter(None, (self.message, self.remedy)),
        ]

    def heading(self) -> str:
        """Return what was found and where, in a few words.

        Example:
            >>> Finding("loss_spike", 7, "loss/mse_loss", "9 is far above 1").heading()
            'Loss spike, step 7'
        """
        return f"{self.title[:1].upper()}{self.title[1:]}, {self.where()}"

    @property
    def title(self) -> str:
        """What was found, in a few plain words, to head what is said of it.

        Example:
            >>> Finding("untrained_parameter", 3, "w", "", condition="zero_grad").title
            'gradients not zeroed'
            >>> Finding("input_drift", 3, "batch/0", "").title
            'inputs drift'
        """
        return title_of(self.rule, self.condition, self.evidence.get("why"))

    @property
    def train_step(self) -> int:
        """The TRAIN step that people count by; that which training had come to elsewhere."""
        if self.mode_step is None:
            return self.step
        return train_step(self.mode, self.step, self.mode_step)

    @property
    def began(self) -> int:
        """The global step at which it began; where that is not known, that at which it was noticed.

        Example:
            >>> Finding("overfit", 9, "", "").began, Finding("overfit", 9, "", "", onset=3).began
            (9, 3)
        """
        return self.step if self.onset is None else min(self.onset, self.step)

    def where(self) -> str:
        """Return the step in words, ``step 16``, and since when it was so.

        Example:
            >>> Finding("overfit", 33, "loss", "", mode="EVAL", mode_step=1).where()
            'step 32, in evaluation'
            >>> Finding("exploding_tensor", 9, "w", "", mode_step=7, train_onset=3).where()
            'since step 3, noticed at step 7'
        """
        where = ", ".join(filter(None, [self.since, self.noticed]))
        return where if self.mode in TRAINS or self.step < 0 else f"{where}, in evaluation"

    @property
    def origin(self) -> str:
        """Where it was and which rule says so, for what stands beneath its title.

        Example:
            >>> Finding("loss_spike", 7, "loss/mse_loss", "9 is far above 1").origin
            'step 7 · rule loss_spike'
        """
        return f"{self.where()} · rule {self.rule}"

    @property
    def since(self) -> str:
        """Since when it was so, ``since step 3``; where that is not known the step, ``step 16``."""
        if self.step < 0:
            return "before any step"
        if self.train_onset in (None, self.train_step):
            return f"step {self.train_step}"
        return f"since step {self.train_onset}"

    @property
    def noticed(self) -> str:
        """Where it was so before it was noticed, ``noticed at step 7``; else ``""``."""
        return f"noticed at step {self.train_step}" if self.since.startswith("since") else ""

    def to_dict(self) -> dict[str, object]:
        """Return plain data of JSON's types; non-finite numbers become strings."""
        values = {
            "finding_id": self.finding_id,
            **asdict(self),
            "where": self.where(),
            "title": self.title,
        }
        return {name: plain(value) for name, value in values.items()}

    def _repr_html_(self) -> str:
        facts = [
            ("rule", self.rule),
            ("where", self.where()),
            ("tensor", self.tensor),
            ("worker", self.worker),
            ("what to do", self.remedy),
        ]
        title = f"{self.severity}: {self.message}"
        return html_table(title, [fact for fact in facts if fact[1]])

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, line: str) -> Finding:
        """Return what ``to_json`` wrote.

        Raises:
            TypeError, ValueError: It is no finding.
        """
        found = parse_json(line)
        if not isinstance(found, dict):
            raise TypeError("no finding")
        found.pop("finding_id", None)
        for derived in ("where", "title"):
            found.pop(derived, None)
        for name in ("value", "threshold"):
            if isinstance(found.get(name), str):
                found[name] = float(found[name])
        for one in fields(cls):
            if one.name in found and not isinstance(found[one.name], _TYPES[str(one.type)]):
                raise ValueError(f"{one.name} is {found[one.name]!r}")
        return cls(**found)

    def at(self, *, mode: str, mode_step: int, worker: str) -> Finding:
        """Return this finding with what the rule left open of where it was."""
        return replace(
            self,
            mode=self.mode or mode,
            mode_step=mode_step if self.mode_step is None else self.mode_step,
            worker=self.worker or worker,
        )


# By the annotation of a field.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "int | None": (int, NoneType),
    "float | None": (float, int, NoneType),
    "Mapping[str, object]": (dict,),
}


def plain(value: object) -> object:
    """Return a value with nan and infinities as strings, which JSON can hold."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value
