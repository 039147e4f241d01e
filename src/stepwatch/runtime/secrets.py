"""What looks like a secret, in arguments of a program or in a text; it is not recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: What stands in place of a secret.
MASK = "***"

_NAMES = re.compile(
    r"(passw(or)?d|passphrase|secrets?|credentials?|apikey|"
    r"(api|access|secret|private|account|auth|hub|hf|wandb)[-_]?key|"
    r"(^|(auth|access|api|hf|hub|wandb|github|gitlab|bearer|refresh|session|secret|private)[-_])"
    r"token)$",
    re.IGNORECASE,
)
_VALUES = re.compile(
    r"AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}"  # AWS
    r"|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[opsur]_[A-Za-z0-9]{30,}|glpat-[\w-]{20,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[\w-]{35}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"  # JSON web tokens
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"  # user and password of a URL
)
# What lets somebody in by the query of a URL: of AWS, Azure and Google, and what is called so.
_QUERY = re.compile(
    r"(?<=[?&])((?:[\w.-]*[_-])?(?:signature|sig|token|credential|password|secret|api_?key)=)"
    r"[^&\s#'\"<>]+",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(r"(?P<name>-{0,2}[A-Za-z][\w.-]*)=(?P<value>.+)", re.DOTALL)


def masked(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return arguments with ``***`` for what looks like a secret, by its name or by itself.

    Example:
        >>> masked(["train.py", "--api-key", "abc", "--hf_token=x", "--pad-token", "<pad>"])
        ('train.py', '--api-key', '***', '--hf_token=***', '--pad-token', '<pad>')
        >>> masked(["s3://me:pass@host/data"])
        ('s3://***@host/data',)
    """
    found: list[str] = []
    is_value = False
    for one in arguments:
        assignment = _ASSIGNMENT.fullmatch(one)
        if is_value and not one.startswith("--"):
            one = MASK
        elif assignment and is_secret(assignment["name"]):
            one = f"{assignment['name']}={MASK}"
        else:
            one = masked_text(one)
        found.append(one)
        is_value = one.startswith("-") and not assignment and is_secret(one)
    return tuple(found)


def masked_text(text: str) -> str:
    """Return a text with ``***`` for what looks like a secret by itself, or in a URL.

    Example:
        >>> masked_text("cannot reach https://me:pass@host/data?part=1&X-Amz-Signature=0a1b")
        'cannot reach https://***@host/data?part=1&X-Amz-Signature=***'
    """
    return _QUERY.sub(rf"\1{MASK}", _VALUES.sub(MASK, text))


def is_secret(name: str) -> bool:
    """Return whether what has this name is likely a secret."""
    return _NAMES.search(name.lstrip("-").rpartition(".")[2]) is not None
