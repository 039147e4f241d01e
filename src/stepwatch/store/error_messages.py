"""What object storage, or the way to it, refused: one line that says what is wrong and what to do.

The classes of obstore's errors tell missing, denied and everything else apart, but not an expired
token from a wrong region: that only the text of an error says, with the request, the HTTP status
and the server's own code. Codes are those of "Error responses" in the API reference of Amazon S3,
"HTTP status and error codes for XML" in that of Google Cloud Storage, and "Common REST API error
codes" and "Blob Storage error codes" in that of Azure. What they mean is a table for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TOO_BUSY = ("408", "409", "429")


@dataclass(frozen=True, slots=True)
class ErrorDialect:
    """The terms, codes and hints of one kind of object storage.

    Args:
        scheme: Of its URLs; also the extra that installs what is needed.
        container: What it calls that which holds objects, such as ``bucket``.
        name: Regular expression of the name of a container, without groups.
        letters: The same for people.
        missing: Code of a container that does not exist.
        endpoint: Environment variables that give the endpoint.
        remedy: How to give credentials.
        machine: Parts of the addresses at which a machine is asked for credentials.
        permissions: What is needed to ``read``, ``write``, ``list`` and ``delete``.
        reasons: What is wrong and what to do, by code. May name ``{container}``, ``{endpoint}``,
            ``{permission}``, ``{cause}`` and ``{expected}``.
        of_status: The code that stands for an HTTP status whose answer has none.
        again: Codes after which to send everything again, whatever the status.
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
    """What the text of an error says; each is empty where it says nothing.

    Args:
        status: HTTP status, as text; empty too where the answer was cut off.
        code: The server's own code, or ``InvalidCertificate``.
        address: URL of the request.
        text: The first line.
        cause: What the system said, such as ``Connection refused``.
        region: The region that S3 expects.
        dialect: The dialect that says what codes mean.
    """

    status: str
    code: str
    address: str
    text: str
    cause: str
    region: str
    dialect: ErrorDialect = field(repr=False)

    @classmethod
    def of(cls, error: BaseException, dialect: ErrorDialect) -> Refusal:
        """Return what an error says.

        Example:
            >>> text = "Error performing GET http://host/b/k in 1ms - status code: 403 Forbidden"
            >>> refusal = Refusal.of(OSError(text), S3_ERRORS)
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
        """Whether it is unknown what became of the request, so that it is worth a retry."""
        if self.is_credential_lookup:
            return False
        if self.code in self.dialect.again or self.status in _TOO_BUSY:
            return True
        no_answer = not self.status and not self.code and "HTTP error" in self.text
        return no_answer or self.status >= "500"

    @property
    def lacks_container(self) -> bool:
        """Whether the container itself does not exist."""
        return self.code == self.dialect.missing

    def is_gone(self, verb: str) -> bool:
        """Whether a write failed because something other than the container is missing.

        So it is when the last request of an upload in pieces is repeated because its answer was
        lost, and when a created value is deleted, or not visible yet, as its mark is checked.
        """
        return verb == "write" and self.status == "404" and not self.lacks_container

    @property
    def is_credential_lookup(self) -> bool:
        """Whether the request asked the machine for credentials, the last source of them."""
        return any(part in self.address for part in self.dialect.machine)

    def reason(self, verb: str, container: str) -> str:
        """Return why ``read``, ``write``, ``list`` or ``delete`` was refused, and what to do."""
        dialect = self.dialect
        endpoint = _found(r"(\w+://[^/]+)", self.address) or "the endpoint"
        if self.is_credential_lookup:
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


_AZ_REMEDY = (
    "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, "
    "or AZURE_USE_AZURE_CLI=true after: az login, "
    "or AZURE_SKIP_SIGNATURE=true for what everybody may read"
)
_AZ_NOT_ACCEPTED = (
    "{endpoint} does not accept the credentials; correct AZURE_STORAGE_ACCOUNT_KEY or "
    "AZURE_STORAGE_SAS_TOKEN, and see that the account lets this network in"
)
_AZ_DENIED = "access denied; these credentials need {permission} there"
_AZ_REASONS = {
    "ContainerNotFound": (
        "there is no container {container} at {endpoint}; correct the URL or "
        "AZURE_STORAGE_ACCOUNT_NAME, or make it: az storage container create --name {container}"
    ),
    "AuthenticationFailed": _AZ_NOT_ACCEPTED,
    "AuthorizationFailure": _AZ_NOT_ACCEPTED,
    "InvalidAuthenticationInfo": _AZ_NOT_ACCEPTED,
    "NoAuthenticationInformation": f"{{endpoint}} wants credentials; {_AZ_REMEDY}",
    "AccessDenied": _AZ_DENIED,
    "AuthorizationPermissionMismatch": _AZ_DENIED,
    "InsufficientAccountPermissions": _AZ_DENIED,
    "AccountIsDisabled": "the account is disabled; enable it, or see its billing",
    "InvalidCertificate": "the certificate of {endpoint} is not trusted ({cause})",
}
_AZ_WRITER = "the role Storage Blob Data Contributor, or to read, write, delete and list,"
_AZ_READER = "the role Storage Blob Data Reader, or to read and list,"

AZ_ERRORS = ErrorDialect(
    scheme="az",
    container="container",
    name=r"(?=[^/]{3,63}(?:/|$))[a-z0-9]+(?:-[a-z0-9]+)*",
    letters="3 to 63 small letters, digits and single dashes",
    missing="ContainerNotFound",
    endpoint="AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ENDPOINT",
    remedy=_AZ_REMEDY,
    machine=("/metadata/identity/",),
    permissions={"read": _AZ_READER, "list": _AZ_READER, "write": _AZ_WRITER, "delete": _AZ_WRITER},
    reasons=_AZ_REASONS,
    of_status={"401": "NoAuthenticationInformation", "403": "AccessDenied"},
    # The last request of an upload was repeated as its answer was lost: the value is whole.
    again=("InvalidBlockList",),
)


_GS_REMEDY = (
    "set GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT to a file with a key, "
    "or run: gcloud auth application-default login, "
    "or set GOOGLE_SKIP_SIGNATURE=true for what everybody may read"
)
_GS_REASONS = {
    "NoSuchBucket": (
        "there is no bucket {container} at {endpoint}; correct the URL, "
        "or make it: gcloud storage buckets create gs://{container}"
    ),
    "AuthenticationRequired": f"{{endpoint}} does not accept the credentials; {_GS_REMEDY}",
    "AccessDenied": "access denied; these credentials need {permission} there",
    "AccountProblem": "the account of Google is not in order; see its billing",
    "RequestTimeTooSkewed": "the clock of this machine is wrong; set it",
    "InvalidCertificate": "the certificate of {endpoint} is not trusted ({cause})",
}

GS_ERRORS = ErrorDialect(
    scheme="gs",
    container="bucket",
    name=r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]",
    letters="3 to 63 small letters, digits, dots, dashes and underscores",
    missing="NoSuchBucket",
    endpoint="GOOGLE_BASE_URL",
    remedy=_GS_REMEDY,
    machine=("/computeMetadata/",),
    permissions={
        "read": "storage.objects.get",
        "write": "storage.objects.create and storage.objects.delete",
        "list": "storage.objects.list",
        "delete": "storage.objects.delete",
    },
    reasons=_GS_REASONS,
    of_status={"401": "AuthenticationRequired", "403": "AccessDenied"},
)


_S3_EXPIRED = "the credentials have expired; renew them (AWS_SESSION_TOKEN, or: aws sso login)"
_S3_REGION = "the bucket {container} is in another region{expected}; set AWS_REGION"
_S3_REASONS = {
    "NoSuchBucket": (
        "there is no bucket {container} at {endpoint}; correct the URL or AWS_ENDPOINT_URL, "
        "or make it: aws s3 mb s3://{container}"
    ),
    "InvalidAccessKeyId": (
        "{endpoint} does not know the access key; correct AWS_ACCESS_KEY_ID, the profile, "
        "or AWS_ENDPOINT_URL"
    ),
    "SignatureDoesNotMatch": (
        "the secret key does not belong to the access key; correct AWS_SECRET_ACCESS_KEY "
        "or the profile"
    ),
    "InvalidToken": "the session token is not valid; correct or unset AWS_SESSION_TOKEN",
    "ExpiredToken": _S3_EXPIRED,
    "ExpiredTokenException": _S3_EXPIRED,
    "TokenRefreshRequired": _S3_EXPIRED,
    "RequestTimeTooSkewed": "the clock of this machine is wrong; set it",
    "AuthorizationHeaderMalformed": _S3_REGION,
    "PermanentRedirect": _S3_REGION,
    "IllegalLocationConstraintException": _S3_REGION,
    "AccessDenied": (
        "access denied; these credentials need {permission} there (and s3:ListBucket, "
        "without which S3 denies what is missing)"
    ),
    "InvalidCertificate": (
        "the certificate of {endpoint} is not trusted ({cause}); "
        "name that of its authority in AWS_CA_BUNDLE"
    ),
    "QuotaExceeded": "the quota of {container} is used up; delete something or ask for more",
}

S3_ERRORS = ErrorDialect(
    scheme="s3",
    container="bucket",
    name=r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]",
    letters="3 to 63 letters, digits, dots and dashes",
    missing="NoSuchBucket",
    endpoint="AWS_ENDPOINT_URL",
    remedy=(
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, "
        "or AWS_SKIP_SIGNATURE=true for what everybody may read"
    ),
    machine=("/latest/api/token", "/latest/meta-data", "169.254.170.2"),
    permissions={
        "read": "s3:GetObject",
        "write": "s3:PutObject",
        "list": "s3:ListBucket",
        "delete": "s3:DeleteObject",
    },
    reasons=_S3_REASONS,
    of_status={"301": "PermanentRedirect", "403": "AccessDenied"},
    again=("RequestTimeout",),  # a 400: the server has waited too long for the body
)
