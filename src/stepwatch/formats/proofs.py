"""Proofs in a run: what replays under alternatives have shown of a finding, beside the findings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from ..errors import CorruptRun
from ..model.finding import plain
from ..model.json_text import parse_json
from ..store import Store
from .manifest import FINDINGS

_SUFFIX = ".proof.json"


@dataclass(frozen=True, slots=True)
class Tried:
    """One alternative, and what came of it.

    Args:
        kind: What was changed.
        text: The change in words.
        outcome: ``removes it``, ``remains``, ``moves`` or ``does not apply``; of the steps as
            recorded ``remains`` or ``does not come again``.
        why: Why it does not apply; empty otherwise.
    """

    kind: str
    text: str
    outcome: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of the cause of a finding.

    Args:
        finding_id: Of the finding.
        rule: Its rule.
        step: Its global step.
        proved: Whether the cause is; it stays a suspicion otherwise.
        cause: What kind of cause it is, such as ``rows``; empty where none is proved.
        text: The proof in words, or why there is none.
        steps: The first and the last TRAIN step that were run again.
        tried: The alternatives, in the order in which they were tried.
        evidence: More numbers and names, of JSON's types.
    """

    finding_id: str
    rule: str
    step: int
    proved: bool
    cause: str
    text: str
    steps: tuple[int, ...] = ()
    tried: tuple[Tried, ...] = ()
    evidence: Mapping[str, object] | None = None

    def line(self) -> str:
        """Return it as one line."""
        return f"proved: {self.text}" if self.proved else f"not proved: {self.text}"

    def to_dict(self) -> dict[str, object]:
        """Return plain data of JSON's types."""
        return {name: plain(value) for name, value in asdict(self).items()}


def write_proof(store: Store, proof: Proof) -> None:
    """Store a proof; it takes the place of an earlier one of the same finding."""
    key = f"{FINDINGS}{proof.finding_id}{_SUFFIX}"
    store.put(key, json.dumps(proof.to_dict(), indent=1).encode())


def read_proofs(store: Store) -> dict[str, Proof]:
    """Return the proofs of a run by the IDs of their findings.

    Raises:
        CorruptRun: One is none that ``write_proof`` wrote.
    """
    found = {}
    for key in store.list(FINDINGS):
        if key.endswith(_SUFFIX):
            try:
                proof = _from_dict(parse_json(store.get(key)))
            except (TypeError, ValueError, KeyError) as error:
                raise CorruptRun(key, 0, f"not a proof ({error})") from None
            found[proof.finding_id] = proof
    return found


def _from_dict(document: object) -> Proof:
    if not isinstance(document, dict):
        raise TypeError("no object")
    values = {one.name: document[one.name] for one in fields(Proof)}
    texts = (values[name] for name in ("finding_id", "rule", "cause", "text"))
    if not all(isinstance(one, str) for one in texts) or not isinstance(values["proved"], bool):
        raise TypeError("a field of another type")
    values["tried"] = tuple(Tried(**{k: str(v) for k, v in one.items()}) for one in values["tried"])
    values["steps"] = tuple(int(one) for one in values["steps"])
    values["step"] = int(values["step"])
    return Proof(**values)
