"""What object storage, or the way to it, refused: one line that says what is there and what to do.

The library tells by the text of its errors: the request, and how the server answered, as XML with
a code. What codes mean differs; a dialect tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TOO_BUSY = ("408", "409", "429")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one kind of object storage says what all of them say.

    Args:
        scheme: Of its URLs; also the extra that installs what is needed.
        container: What lies in it and holds objects, such as ``bucket``.
        name: Regular expression of what such a one may be called, without groups.
        letters: The same in words.
        missing: Code that says that there is no such container.
        endpoint: Variables that tell where it is.
        remedy: How to give credentials.
        machine: Parts of addresses at which a machine is asked for credentials.
        permissions: What is needed to ``read``, ``write``, ``list`` and ``delete``.
        reasons: What is wrong and what to do, by code. May name ``{container}``, which is the
            name of one, ``{endpoint}``, ``{permission}``, ``{cause}`` and ``{expected}``.
        of_status: Codes of answers that have none, by HTTP status.
        again: Codes after which it helps to send everything again, whatever the status.
    """

    scheme: str
    container: str
    name: str
    letters: str
    missing: str
    endpoint: str
    remedy: str
    machine: tuple[str, ...]
    permissions: Mapping[str, str]
    reasons: Mapping[str, str]
    of_status: Mapping[str, str]
    again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is in the text of an error.

    Args:
        status: HTTP status, as text; empty if no answer came, or not a whole one.
        code: The server's own code, or ``InvalidCertificate``; empty if there was none.
        address: URL that was asked; empty if not known.
        text: The first line.
        cause: What the system said, such as ``Connection refused``; empty if nothing.
        region: The region that S3 expects; empty if it did not say.
        dialect: What codes mean.
    """

    status: str
    code: str
    address: str
    text: str
    cause: str
    region: str
    dialect: Dialect = field(repr=False)

    @classmethod
    def of(cls, error: BaseException, dialect: Dialect) -> Refusal:
        """Return what an error says.

        Example:
            >>> from stepwatch.store.s3_refusals import S3
            >>> told = "Error performing GET http://host/b/k in 1ms - status code: 403 Forbidden"
            >>> refusal = Refusal.of(OSError(told), S3)
            >>> refusal.status, refusal.address
            ('403', 'http://host/b/k')
        """
        text = str(error)
        line = text.partition("\n")[0]
        # The second is how Azure answers for each of several objects that are to be deleted.
        status = _found(r"status code: (\d{3})|\(code: (\d{3})\)", line)
        if "redirect without LOCATION" in line:
            status = "301"
        return cls(
            status,
            _found(r"<Code>(\w+)</Code>|(InvalidCertificate)\(", text)
            or dialect.of_status.get(status, ""),
            _found(r"performing [A-Z]+ (\S+)", line),
            re.sub(r"^Generic \w+ error: ", "", line),
            _found(r'(?:message|error): "([^"]+)"|InvalidCertificate\(\s*(\w+)', text),
            _found(r"<Region>([\w-]+)</Region>", text),
            dialect,
        )

    @property
    def is_unanswered(self) -> bool:
        """Whether it is not known what became of the request: it may help to ask again."""
        if self.asks_the_machine:
            return False
        if self.code in self.dialect.again or self.status in _TOO_BUSY:
            return True
        no_answer = not self.status and not self.code and "HTTP error" in self.text
        return no_answer or self.status >= "500"

    @property
    def lacks_container(self) -> bool:
        """Whether there is not even the container."""
        return self.code == self.dialect.missing

    def is_gone(self, verb: str) -> bool:
        """Whether a writer was told that something is missing, but for the container.

        Of a value in pieces that is told who sends the last word twice, as the first answer was
        lost; of one that was to be created, who asks whose it is when it is deleted or, in a
        race, not there yet.
        """
        return verb == "write" and self.status == "404" and not self.lacks_container

    @property
    def asks_the_machine(self) -> bool:
        """Whether the machine was asked for credentials, the last place to look for some."""
        return any(part in self.address for part in self.dialect.machine)

    def reason(self, verb: str, container: str) -> str:
        """Return why something was refused and what to do, in one line.

        Args:
            verb: ``read``, ``write``, ``list`` or ``delete``.
            container: Where; its name.
        """
        dialect = self.dialect
        endpoint = _found(r"(\w+://[^/]+)", self.address) or "the endpoint"
        if self.asks_the_machine:
            return f"no credentials; {dialect.remedy}"
        if self.code in dialect.reasons:
            return dialect.reasons[self.code].format(
                container=container,
                endpoint=endpoint,
                permission=dialect.permissions[verb],
                cause=self.cause,
                expected=f", {self.region}" if self.region else "",
            )
        if self.status:
            return f"{endpoint} answers {self.status} {self.code}".strip()
        if "HTTP error" in self.text:
            why = f" ({self.cause})" if self.cause else ""
            return f"{endpoint} does not answer{why}; check {dialect.endpoint} and the network"
        return self.text


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return next(filter(None, match.groups())) if match else ""
