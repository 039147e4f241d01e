"""The utilities of smdebug for XGBoost."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from smdebug.exceptions import SMDebugError
from smdebug.xgboost.utils import (
    get_content_type,
    get_dmatrix,
    parse_tree_model,
    validate_data_file_path,
)

pytestmark = pytest.mark.framework

CSV = "1,0.5,2\n0,1.5,3\n1,2.5,4\n"
LIBSVM = "1 0:0.5 1:2\n0:0.5 0:1.5\n1 1:4\n"


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file of data."""

    def write(text, name="data.txt"):
        path = tmp_path / "data" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.parametrize("classes", [1, 3])
def test_the_nodes_of_a_tree_are_those_of_the_model(classes):
    """Of several trees a round, too."""
    rng = np.random.default_rng(0)
    data = xgboost.DMatrix(rng.random((60, 3)), label=rng.integers(0, max(2, classes), 60))
    parameters = {"max_depth": 3, "objective": "binary:logistic"}
    if classes > 1:
        parameters |= {"objective": "multi:softmax", "num_class": classes}
    model = xgboost.train(parameters, data, num_boost_round=4)
    table = model.trees_to_dataframe()
    for number in (0, 3):
        expected = table[table["Tree"] == number]
        found = parse_tree_model(model, number)

        assert expected["ID"].tolist() == found["ID"].tolist()
        assert expected["Feature"].tolist() == found["Feature"].tolist()
        assert np.allclose(expected["Split"], found["Split"], equal_nan=True, rtol=1e-5)
        assert np.allclose(expected["Gain"], found["Gain"], rtol=1e-4)


class TestData:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [(None, "libsvm"), ("text/x-libsvm", "libsvm"), ("CSV", "csv"), ("text/csv", "csv")],
    )
    def test_types_of_content_have_several_names(self, name, kind):
        assert kind == get_content_type(name)

    def test_another_type_is_refused(self):
        with pytest.raises(SMDebugError, match="parquet"):
            get_content_type("parquet")

    def test_data_are_read_from_files(self, file):
        """With labels in the first column."""
        table = get_dmatrix(file(CSV, "a.csv"), "csv")
        sparse = get_dmatrix(file(LIBSVM, "a.libsvm"), "text/libsvm")

        assert [1, 0, 1] == table.get_label().tolist()
        assert [1, 0, 1] == sparse.get_label().tolist()
        assert (2, 2) == (table.num_col(), sparse.num_col())
        assert get_dmatrix("/no/such/file", "csv") is None

    def test_files_of_the_other_format_are_refused(self, file):
        validate_data_file_path(file(CSV), "csv")
        with pytest.raises(SMDebugError, match="format libsvm"):
            validate_data_file_path(file(CSV), "libsvm")
        validate_data_file_path(file(LIBSVM), "libsvm")
        with pytest.raises(SMDebugError, match=r"format csv|separates the columns"):
            validate_data_file_path(file(LIBSVM), "csv")
