"""The example on the page of XGBoost does what the page says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepwatch.formats.findings import read_findings
from stepwatch.store import open_store

pytestmark = pytest.mark.framework

PAGE = Path(__file__).parents[3] / "docs" / "frameworks" / "xgboost.md"


def test_the_leaked_column_is_found(tmp_path):
    """By the command that stands there, in an empty folder."""
    text = PAGE.read_text(encoding="utf-8")
    example = re.search(r"^```python example\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "train.py").write_text(example[1], encoding="utf-8")
    rules = re.search(r"^stepwatch run --rules '(.*)' train.py$", text, re.MULTILINE)[1]

    command = [sys.executable, "-m", "stepwatch", "run", "--run", "run", "--rules", rules]
    done = subprocess.run(
        [*command, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    said = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]
    assert 0 == done.returncode, done.stderr
    assert set(said.splitlines()) <= set(done.stderr.splitlines()), done.stderr
    found = {json.loads(line)["rule"] for line in read_findings(open_store(tmp_path / "run"))}
    assert {"feature_importance_overweight", "label_leak"} == found
