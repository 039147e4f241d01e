"""The report on a real training says what scikit-learn says of its model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics

from stepwatch.jobs import Job, RuleSpec
from stepwatch.report import report, suits
from stepwatch.report.document import Chart
from tests.support.frameworks.xgboost.xgboost_trainings import parts, table, trained

pytestmark = pytest.mark.framework

SAVED = ["labels:raw:every=5", "predictions:raw:every=5", "average_shap:raw"]


def charts(made):
    """Return what each section draws, by its key."""
    return {
        section.key: [block.data for block in section.blocks if isinstance(block, Chart)]
        for section in made.sections
    }


def test_two_classes(tmp_path):
    """The confusion matrix and the area under the curve, of the validation data."""
    x = table(columns=4)
    y = x[:, 0] + np.random.default_rng(1).normal(size=len(x)) > 0
    parameters = {"objective": "binary:logistic", "eval_metric": ["logloss", "auc"]}
    trial, model = trained(tmp_path / "run", parameters, x, y, 11, policy=SAVED)

    made = report(trial)

    assert "xgboost" == suits(trial)
    _, validation = parts(x, y)
    labels, scores = validation.get_label(), model.predict(validation)
    found = charts(made)
    np.testing.assert_array_equal(
        metrics.confusion_matrix(labels, scores > 0.5), found["ConfusionMatrix"][0]["counts"]
    )
    area = metrics.roc_auc_score(labels, scores)
    assert f"Area under the curve: {area:.4f}" == found["RocCurve"][0]["title"]
    assert {"auc", "logloss"} == {drawn["title"] for drawn in found["LossData"]}
    titles = {drawn["title"] for drawn in found["FeatureImportance"]}
    assert {"weight", "gain", "cover", "mean |SHAP|"} == titles
    json.dumps(made.to_dict(), allow_nan=False)


def test_features_are_sorted_by_how_much_they_move_a_prediction(tmp_path):
    """One that adds as often as it takes is first, although its mean is about zero."""
    x = table(columns=3)
    y = 5 * np.sign(x[:, 1]) + x[:, 0]
    trial, model = trained(tmp_path / "run", {}, x, y, 11, policy=SAVED)

    (drawn,) = (one for one in charts(report(trial))["FeatureImportance"] if "SHAP" in one["title"])
    added = model.predict(parts(x, y)[0], pred_contribs=True)[:, :-1]
    sizes = np.abs(added).mean(axis=0)
    first = f"f{np.argmax(sizes)}"
    assert first == next(iter(drawn["values"]))
    assert sorted(drawn["values"].values(), reverse=True) == [*drawn["values"].values()]
    assert pytest.approx(sizes.max(), rel=1e-4) == drawn["values"][first]


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_several_classes(tmp_path, objective):
    """Whether the model says scores or classes."""
    x = table(columns=4)
    y = np.digitize(x[:, 0], [-0.5, 0.5])
    parameters = {"objective": objective, "num_class": 3}
    trial, model = trained(tmp_path / "run", parameters, x, y, 11, policy=SAVED)

    found = charts(report(trial))

    _, validation = parts(x, y)
    said = model.predict(validation)
    classes = said.argmax(axis=1) if said.ndim == 2 else said
    wanted = metrics.confusion_matrix(validation.get_label(), classes)
    np.testing.assert_array_equal(wanted, found["ConfusionMatrix"][0]["counts"])


def test_numbers(tmp_path):
    """The mean absolute error over the bins is that of all rows."""
    x = table(columns=4)
    trial, model = trained(tmp_path / "run", {}, x, x.sum(1), 11, policy=SAVED)

    made = report(trial)

    _, validation = parts(x, x.sum(1))
    wanted = metrics.mean_absolute_error(validation.get_label(), model.predict(validation))
    (section,) = [one for one in made.sections if one.key == "ErrorByLabel"]
    rows = [row for row in section.blocks[-1].rows if row[1]]
    sizes, errors = zip(*(row[1:] for row in rows), strict=True)
    assert wanted == pytest.approx(np.average(errors, weights=sizes), rel=1e-5)


def test_a_linear_model(tmp_path):
    """It has no importances, and the rest all the same."""
    x = table(columns=4)
    trial, _ = trained(tmp_path / "run", {"booster": "gblinear"}, x, x.sum(1), 6)

    found = charts(report(trial))

    assert [] == found["FeatureImportance"]
    assert ["rmse"] == [drawn["title"] for drawn in found["LossData"]]


def test_a_job_leaves_it_where_sagemaker_does(tmp_path):
    """Of a script that knows nothing of it: what the report needs is saved for its rule."""
    pytest.importorskip("plotly")
    script = tmp_path / "train.py"
    script.write_text(
        "import numpy, xgboost\n"
        "x = numpy.random.default_rng(0).normal(size=(400, 4))\n"
        "halves = [xgboost.DMatrix(half, label=half[:, 0] > 0) for half in (x[:200], x[200:])]\n"
        "evals = list(zip(halves, ('train', 'validation')))\n"
        "settings = {'objective': 'binary:logistic', 'nthread': 1}\n"
        "xgboost.train(settings, halves[0], 11, evals=evals)\n"
    )
    job = Job(
        script,
        name="boosted",
        rules=[RuleSpec({}, "CreateXgboostReport")],
        home=tmp_path / "jobs",
        output=str(tmp_path / "out"),
    )
    record = job.submit().wait(120)

    assert ("Completed", ["NoIssuesFound"]) == (record.status, [one.status for one in record.rules])
    place = tmp_path / "out" / "boosted" / "rule-output" / "CreateXgboostReport"
    assert "Confusion matrix" in (place / "xgboost_report.html").read_text()
    assert 4 == json.loads((place / "xgboost_report.ipynb").read_text())["nbformat"]
    numbers = json.loads((place / "xgboost-reports" / "ConfusionMatrix.json").read_text())
    assert 200 == np.sum(numbers["blocks"][0]["counts"])
