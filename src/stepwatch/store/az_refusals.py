"""What the refusals of Azure Blob Storage mean.

Codes are those of "Common REST API error codes" and "Blob Storage error codes" in its reference.
"""

from __future__ import annotations

from .refusal import Dialect

_REMEDY = (
    "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, "
    "or AZURE_USE_AZURE_CLI=true after: az login, "
    "or AZURE_SKIP_SIGNATURE=true for what everybody may read"
)
_NOT_ACCEPTED = (
    "{endpoint} does not accept the credentials; correct AZURE_STORAGE_ACCOUNT_KEY or "
    "AZURE_STORAGE_SAS_TOKEN, and see that the account lets this network in"
)
_DENIED = "access denied; these credentials need {permission} there"
_REASONS = {
    "ContainerNotFound": (
        "there is no container {container} at {endpoint}; correct the URL or "
        "AZURE_STORAGE_ACCOUNT_NAME, or make it: az storage container create --name {container}"
    ),
    "AuthenticationFailed": _NOT_ACCEPTED,
    "AuthorizationFailure": _NOT_ACCEPTED,
    "InvalidAuthenticationInfo": _NOT_ACCEPTED,
    "NoAuthenticationInformation": f"{{endpoint}} wants credentials; {_REMEDY}",
    "AccessDenied": _DENIED,
    "AuthorizationPermissionMismatch": _DENIED,
    "InsufficientAccountPermissions": _DENIED,
    "AccountIsDisabled": "the account is disabled; enable it, or see its billing",
    "InvalidCertificate": "the certificate of {endpoint} is not trusted ({cause})",
}
_WRITER = "the role Storage Blob Data Contributor, or to read, write, delete and list,"
_READER = "the role Storage Blob Data Reader, or to read and list,"

AZ = Dialect(
    scheme="az",
    container="container",
    name=r"(?=[^/]{3,63}(?:/|$))[a-z0-9]+(?:-[a-z0-9]+)*",
    letters="3 to 63 small letters, digits and single dashes",
    missing="ContainerNotFound",
    endpoint="AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ENDPOINT",
    remedy=_REMEDY,
    machine=("/metadata/identity/",),
    permissions={"read": _READER, "list": _READER, "write": _WRITER, "delete": _WRITER},
    reasons=_REASONS,
    of_status={"401": "NoAuthenticationInformation", "403": "AccessDenied"},
    # Of a value in pieces that is told who sends the last word twice, as the first answer was
    # lost: the pieces are part of the value then.
    again=("InvalidBlockList",),
)
