"""What the refusals of Google Cloud Storage mean.

Codes are those of "HTTP status and error codes for XML" in its reference.
"""

from __future__ import annotations

from .refusal import Dialect

_REMEDY = (
    "set GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT to a file with a key, "
    "or run: gcloud auth application-default login, "
    "or set GOOGLE_SKIP_SIGNATURE=true for what everybody may read"
)
_REASONS = {
    "NoSuchBucket": (
        "there is no bucket {container} at {endpoint}; correct the URL, "
        "or make it: gcloud storage buckets create gs://{container}"
    ),
    "AuthenticationRequired": f"{{endpoint}} does not accept the credentials; {_REMEDY}",
    "AccessDenied": "access denied; these credentials need {permission} there",
    "AccountProblem": "the account of Google is not in order; see its billing",
    "RequestTimeTooSkewed": "the clock of this machine is wrong; set it",
    "InvalidCertificate": "the certificate of {endpoint} is not trusted ({cause})",
}

GS = Dialect(
    scheme="gs",
    container="bucket",
    name=r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]",
    letters="3 to 63 small letters, digits, dots, dashes and underscores",
    missing="NoSuchBucket",
    endpoint="GOOGLE_BASE_URL",
    remedy=_REMEDY,
    machine=("/computeMetadata/",),
    permissions={
        "read": "storage.objects.get",
        "write": "storage.objects.create and storage.objects.delete",
        "list": "storage.objects.list",
        "delete": "storage.objects.delete",
    },
    reasons=_REASONS,
    of_status={"401": "AuthenticationRequired", "403": "AccessDenied"},
)
