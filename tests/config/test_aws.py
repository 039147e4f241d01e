"""How S3 is reached: variables first, then the profile; what is wrong is told before it is used."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest

from stepwatch.config import aws_access
from stepwatch.errors import ConfigError, MissingDependency

CONFIG = """\
[default]
region = eu-west-1

[profile lab]
region = eu-central-1
endpoint_url = http://lab:9000

[profile role]
role_arn = arn:aws:iam::1:role/trainer
source_profile = lab
"""
CREDENTIALS = """\
[default]
aws_access_key_id = DEFAULT
aws_secret_access_key = per%cent

[lab]
aws_access_key_id = LAB
aws_secret_access_key = secret
aws_session_token = token
"""


@pytest.fixture
def home(tmp_path):
    """A home with both files."""
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(CONFIG)
    (tmp_path / ".aws" / "credentials").write_text(CREDENTIALS)
    return {"HOME": str(tmp_path)}


def keys_of(variables):
    """Return access key, secret and token."""
    keys = aws_access(variables).keys()
    return keys["access_key_id"], keys["secret_access_key"], keys["token"]


class TestProfiles:
    def test_nothing_said_is_nothing(self, tmp_path):
        """The library's own defaults stand, and the machine is asked for keys."""
        access = aws_access({"HOME": str(tmp_path)})

        assert ("", "", None) == (access.endpoint, access.region, access.keys)

    def test_the_default_profile_counts_without_being_asked_for(self, home):
        """As for AWS's own programs."""
        assert ("", "eu-west-1") == (aws_access(home).endpoint, aws_access(home).region)
        assert ("DEFAULT", "per%cent", None) == keys_of(home)

    def test_a_profile_is_both_of_its_sections(self, home):
        """Keys from one file, the rest from the other."""
        lab = {**home, "AWS_PROFILE": "lab"}

        assert "http://lab:9000" == aws_access(lab).endpoint
        assert "eu-central-1" == aws_access(lab).region
        assert ("LAB", "secret", "token") == keys_of(lab)

    def test_variables_count_more(self, home):
        """Each for itself: who gives keys is not asked for the profile's."""
        variables = {
            **home,
            "AWS_PROFILE": "lab",
            "AWS_REGION": "us-west-2",
            "AWS_DEFAULT_REGION": "us-west-1",
            "AWS_ENDPOINT_URL": "http://other",
            "AWS_ENDPOINT_URL_S3": "http://other-s3",
            "AWS_ACCESS_KEY_ID": "GIVEN",
        }
        access = aws_access(variables)

        assert ("http://other-s3", "us-west-2", None) == (
            access.endpoint,
            access.region,
            access.keys,
        )

    @pytest.mark.parametrize(
        "name",
        ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"],
    )
    def test_keys_of_a_platform_count_more(self, home, name):
        """Jobs are given theirs by variables that lead to them."""
        assert aws_access({**home, name: "/there"}).keys is None

    def test_who_wants_no_keys_needs_none(self, home):
        """What everybody may read is read without a signature."""
        variables = {**home, "AWS_SKIP_SIGNATURE": "true", "AWS_EC2_METADATA_DISABLED": "true"}

        assert aws_access(variables).keys is None

    def test_renewed_keys_are_seen(self, home, tmp_path):
        """Files are read each time, and keys are good for minutes."""
        access = aws_access(home)
        assert access.keys()["expires_at"] > datetime.now(timezone.utc)
        (tmp_path / ".aws" / "credentials").write_text(CREDENTIALS.replace("DEFAULT", "RENEWED"))

        assert "RENEWED" == access.keys()["access_key_id"]

    def test_files_may_lie_elsewhere(self, home, tmp_path):
        """Where the variables say."""
        (tmp_path / "keys").write_text(CREDENTIALS.replace("LAB", "ELSEWHERE"))
        variables = {
            **home,
            "AWS_PROFILE": "lab",
            "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "keys"),
        }

        assert "ELSEWHERE" == keys_of(variables)[0]


class TestWrong:
    def test_a_profile_that_is_not_there_names_those_that_are(self, home):
        """And the nearest."""
        with pytest.raises(ConfigError, match=r"AWS_PROFILE is 'labb'; .* have default, lab, role"):
            aws_access({**home, "AWS_PROFILE": "labb"})

    def test_a_damaged_file_is_named(self, home, tmp_path):
        """In one line."""
        (tmp_path / ".aws" / "config").write_text("no section\n")
        with pytest.raises(ConfigError, match=r"cannot read .*config, where AWS keeps") as caught:
            aws_access(home)

        assert "\n" not in str(caught.value)

    def test_certificates_that_are_not_there_are_told(self, home):
        """Those of a server in the house."""
        with pytest.raises(ConfigError, match="AWS_CA_BUNDLE /no/such: No such file"):
            aws_access({**home, "AWS_CA_BUNDLE": "/no/such"})

    @pytest.mark.parametrize("endpoint", ["localhost:9000", "minio", "ftp://host", "http://"])
    def test_an_endpoint_that_is_no_url_is_told(self, home, endpoint):
        """Before the library is asked, which would end the process's thread."""
        with pytest.raises(ConfigError, match="must be a URL such as https://host:9000, got"):
            aws_access({**home, "AWS_ENDPOINT_URL": endpoint})

    def test_no_keys_where_the_machine_has_none_is_told(self, tmp_path):
        """With the ways to give some."""
        variables = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
        with pytest.raises(ConfigError, match="no credentials for S3; set AWS_ACCESS_KEY_ID"):
            aws_access(variables)


class TestOtherProfiles:
    """Those that assume a role or sign in elsewhere are for boto3."""

    def test_they_need_boto3(self, home, monkeypatch):
        """The message says how to get it."""
        monkeypatch.setitem(sys.modules, "boto3", None)
        with pytest.raises(MissingDependency, match=r"pip install 'stepwatch\[s3-profiles\]'"):
            aws_access({**home, "AWS_PROFILE": "role"})

    def test_their_keys_are_asked_for_each_time(self, home, monkeypatch):
        """It renews them."""
        asked = []

        def frozen():
            asked.append(1)
            return SimpleNamespace(access_key=f"key-{len(asked)}", secret_key="s", token="t")

        held = SimpleNamespace(get_frozen_credentials=frozen)
        session = SimpleNamespace(get_credentials=lambda: held)
        boto3 = SimpleNamespace(Session=lambda profile_name: session)
        monkeypatch.setitem(sys.modules, "boto3", boto3)
        keys = aws_access({**home, "AWS_PROFILE": "role"}).keys

        assert ["key-1", "key-2"] == [keys()["access_key_id"] for _ in range(2)]

    def test_a_profile_without_credentials_is_told(self, home, monkeypatch):
        """And how to give it some."""
        session = SimpleNamespace(get_credentials=lambda: None)
        boto3 = SimpleNamespace(Session=lambda profile_name: session)
        monkeypatch.setitem(sys.modules, "boto3", boto3)
        with pytest.raises(ConfigError, match="'role' of AWS has no credentials; run: aws conf"):
            aws_access({**home, "AWS_PROFILE": "role"})
