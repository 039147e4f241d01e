"""Who a client is: everybody is the one role of the one account. Asked for in forms, not JSON."""

from __future__ import annotations

from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from .account import NUMBER, Account

_STS, _IAM = (
    "https://sts.amazonaws.com/doc/2011-06-15/",
    "https://iam.amazonaws.com/doc/2010-05-08/",
)


def answer(account: Account, form: str) -> tuple[int, str]:
    """Return the status and the XML for a form of STS or IAM.

    Args:
        account: Whose.
        form: What came, such as ``Action=GetCallerIdentity&Version=2011-06-15``.
    """
    asked = parse_qs(form)
    action = asked.get("Action", [""])[0]
    if action == "GetCallerIdentity":
        told = {"Arn": account.role_arn, "UserId": "STEPWATCH", "Account": NUMBER}
        return 200, _xml(action, _STS, _tags(told))
    if action == "GetRole":
        told = {
            "Path": "/",
            "RoleName": asked.get("RoleName", ["stepwatch"])[0],
            "RoleId": "STEPWATCH",
            "Arn": account.role_arn,
            "CreateDate": "2020-01-01T00:00:00Z",
        }
        return 200, _xml(action, _IAM, f"<Role>{_tags(told)}</Role>")
    error = _tags({"Type": "Sender", "Code": "InvalidAction", "Message": f"no action {action!r}"})
    return 400, f"<ErrorResponse><Error>{error}</Error></ErrorResponse>"


def _xml(action: str, namespace: str, inside: str) -> str:
    return (
        f'<{action}Response xmlns="{namespace}"><{action}Result>{inside}</{action}Result>'
        f"<ResponseMetadata><RequestId>0</RequestId></ResponseMetadata></{action}Response>"
    )


def _tags(told: dict[str, str]) -> str:
    return "".join(f"<{name}>{escape(value)}</{name}>" for name, value in told.items())
