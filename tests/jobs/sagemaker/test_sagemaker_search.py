"""Training jobs are found by what their descriptions and tags hold."""

from __future__ import annotations

from contextlib import suppress

import pytest
from botocore.exceptions import ClientError

from stepwatch.errors import JobExists
from stepwatch_smdebug.sagemaker.account import Account
from stepwatch_smdebug.sagemaker.requests import job_spec
from tests.support.jobs.sagemaker.serving import request, shared, shared_client

PROJECT = "searched"


@pytest.fixture(scope="module", autouse=True)
def jobs():
    """Note three jobs that nobody carries out, unless they are noted from before.

    A process that takes tests of others in between sets this up once more when it comes back.
    """
    records = shared().records
    for number, rate in enumerate(("0.1", "0.01", "0.001")):
        channel = {
            "ChannelName": f"c{number}",
            "DataSource": {
                "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://data/{number}"}
            },
        }
        asked = request(
            f"found-{number}",
            HyperParameters={"lr": rate, "model.depth": str(number)},
            Tags=[{"Key": "project", "Value": PROJECT}],
            InputDataConfig=[channel],
        )
        with suppress(JobExists):
            records.add(job_spec(asked, Account(records)))


def found(*filters, **more):
    """Return the numbers of the jobs that meet all filters ``(name, operator, value)``."""
    ours = [("Tags.project", "Equals", PROJECT)]
    conditions = [
        {"Name": name, "Operator": operator, **({} if value is None else {"Value": value})}
        for name, operator, value in [*ours, *filters]
    ]
    expression = {"Filters": conditions, **more.pop("expression", {})}
    told = shared_client().search(Resource="TrainingJob", SearchExpression=expression, **more)
    return [int(one["TrainingJob"]["TrainingJobName"][-1]) for one in told["Results"]]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("TrainingJobName", "Contains", "found"), [0, 1, 2]),
        (("TrainingJobName", "Equals", "found-1"), [1]),
        (("TrainingJobName", "In", "found-1,found-2"), [1, 2]),
        (("TrainingJobStatus", "NotEquals", "InProgress"), []),
        (("HyperParameters.lr", "LessThan", "0.05"), [1, 2]),
        (("HyperParameters.model.depth", "GreaterThanOrEqualTo", "1"), [1, 2]),
        (("HyperParameters.momentum", "Exists", None), []),
        (("HyperParameters.momentum", "NotExists", None), [0, 1, 2]),
        (("CreationTime", "GreaterThan", "2024-01-01T00:00:00Z"), [0, 1, 2]),
        (("CreationTime", "LessThan", "2024-01-01T00:00:00Z"), []),
        (("ResourceConfig.InstanceCount", "Equals", "1"), [0, 1, 2]),
    ],
)
def test_each_operator(condition, expected):
    assert expected == sorted(found(condition))


def test_conditions_are_combined():
    """By ``Or``, by expressions within, and of one member of a list."""
    either = {
        "SubExpressions": [
            {
                "Operator": "Or",
                "Filters": [
                    {"Name": "TrainingJobName", "Operator": "Equals", "Value": "found-0"},
                    {"Name": "HyperParameters.lr", "Operator": "Equals", "Value": "0.001"},
                ],
            }
        ]
    }
    uri = "InputDataConfig.DataSource.S3DataSource.S3Uri"
    nested = {
        "NestedFilters": [
            {
                "NestedPropertyName": "InputDataConfig",
                "Filters": [
                    {"Name": "InputDataConfig.ChannelName", "Operator": "Equals", "Value": "c1"},
                    {"Name": uri, "Operator": "Contains", "Value": "s3://data/1"},
                ],
            }
        ]
    }
    assert [0, 2] == sorted(found(expression=either))
    assert [1] == found(expression=nested)


def test_they_come_in_order_and_in_pages():
    by_rate = {"SortBy": "HyperParameters.lr", "SortOrder": "Ascending"}
    assert [2, 1, 0] == found(**by_rate)
    told = shared_client().search(
        Resource="TrainingJob",
        SearchExpression={"Filters": [{"Name": "Tags.project", "Value": PROJECT}]},
        MaxResults=2,
        **by_rate,
    )
    assert 2 == len(told["Results"])
    assert [0] == found(**by_rate, MaxResults=2, NextToken=told["NextToken"])


def test_what_is_not_searched_says_so():
    with pytest.raises(ClientError, match="Only training jobs are searched"):
        shared_client().search(Resource="Experiment")
