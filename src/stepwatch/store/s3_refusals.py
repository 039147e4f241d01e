"""What the refusals of S3 mean.

Codes are those of "Error responses" in the API reference of Amazon S3.
"""

from __future__ import annotations

from .refusal import Dialect

_EXPIRED = "the credentials have expired; renew them (AWS_SESSION_TOKEN, or: aws sso login)"
_REGION = "the bucket {container} is in another region{expected}; set AWS_REGION"
_REASONS = {
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
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "RequestTimeTooSkewed": "the clock of this machine is wrong; set it",
    "AuthorizationHeaderMalformed": _REGION,
    "PermanentRedirect": _REGION,
    "IllegalLocationConstraintException": _REGION,
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

S3 = Dialect(
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
    reasons=_REASONS,
    of_status={"301": "PermanentRedirect", "403": "AccessDenied"},
    again=("RequestTimeout",),  # a 400: the server has waited too long for the body
)
