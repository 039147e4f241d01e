"""What the real trackers hold of a training whose script had a run of them open: all by itself."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytestmark = pytest.mark.framework

#: A batch of it holds a nan; ``log`` is called with each step and its loss.
TRAINING = """\
import torch
from torch.nn.functional import mse_loss


def train(log):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(60):
        data = x.clone()
        if step == 30:
            data[3, 2] = torch.nan
        optimizer.zero_grad()
        loss = mse_loss(model(data), y)
        loss.backward()
        optimizer.step()
        log(step, loss.item())
"""
WHERE, WHAT = "First value that is not finite, step 30", "loss is NaN from step 30"
FOUND = f"{WHERE}: {WHAT}"
HEADLINE = f"{WHERE}: L{WHAT[1:]}"


def watched(folder, script, *options, **variables):
    """Run a script under ``stepwatch run``; return what it printed, and what we said."""
    (folder / "training.py").write_text(TRAINING)
    (folder / "train.py").write_text(f"from training import train\n{script}")
    command = [sys.executable, "-m", "stepwatch", "run", "--run", "r", *options, "train.py"]
    told = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "not all was passed on" not in told.stderr
    return told.stdout, told.stderr


def test_an_offline_run_of_wandb_holds_alert_summary_and_configuration(tmp_path):
    """And the steps of the script are counted as they were."""
    pytest.importorskip("wandb")
    from stepwatch.trial import Trial

    watched(
        tmp_path,
        "import wandb\n"
        "with wandb.init(mode='offline', project='p') as run:\n"
        "    train(lambda step, loss: run.log({'mine': step}, step=step))\n",
    )
    (run,) = tmp_path.glob("wandb/offline-run-*")
    data = next(run.glob("*.wandb")).read_bytes()

    alert = (f"stepwatch: {WHERE}", WHAT, "(non_finite_origin)")
    for text in (*alert, HEADLINE, "ROLL_BACK step 30", "stepwatch_run"):
        assert text.encode() in data
    steps = list(Trial(run).tensor("metric/mine").steps())
    assert list(range(60)) == steps


def test_a_run_of_mlflow_holds_tags_and_metrics(tmp_path):
    pytest.importorskip("mlflow")
    watched(
        tmp_path,
        "import mlflow\n"
        "mlflow.set_tracking_uri('sqlite:///m.db')\n"
        "with mlflow.start_run():\n"
        "    train(lambda step, loss: mlflow.log_metric('mine', step, step=step))\n",
    )
    with sqlite3.connect(tmp_path / "m.db") as database:
        tags = dict(database.execute("select key, value from tags"))
        found = database.execute(
            "select value, step from metrics where key = 'stepwatch/findings'"
        ).fetchall()

    assert "found" == tags["stepwatch.verdict"]
    assert "ROLL_BACK step 30" == tags["stepwatch.advice"]
    assert tags["mlflow.note.content"].startswith(f"**{HEADLINE}")
    assert tags["stepwatch.found"].startswith(FOUND)
    assert [(1.0, 30)] == found


def test_a_description_that_the_script_gave_its_run_of_mlflow_stays(tmp_path):
    """The page of a run begins with it; where there is none, ours stands there."""
    pytest.importorskip("mlflow")
    watched(
        tmp_path,
        "import mlflow\n"
        "mlflow.set_tracking_uri('sqlite:///m.db')\n"
        "with mlflow.start_run(description='mine'):\n"
        "    train(lambda step, loss: None)\n",
    )
    with sqlite3.connect(tmp_path / "m.db") as database:
        tags = dict(database.execute("select key, value from tags"))

    assert "mine" == tags["mlflow.note.content"]
    assert "found" == tags["stepwatch.verdict"]


def test_a_project_of_trackio_holds_alerts(tmp_path):
    """And the steps of the script are counted as they were."""
    pytest.importorskip("trackio")
    watched(
        tmp_path,
        "import trackio\n"
        "trackio.init(project='p')\n"
        "train(lambda step, loss: trackio.log({'mine': step}))\n"
        "trackio.finish()\n",
        TRACKIO_DIR=str(tmp_path / "trackio"),
    )
    with sqlite3.connect(tmp_path / "trackio" / "p.db") as database:
        alerts = database.execute("select title, text, level from alerts").fetchall()
        steps = [step for (step,) in database.execute("select step from metrics order by step")]

    expected = [f"stepwatch: {WHERE}", "stepwatch verdict: found, ROLL_BACK step 30"]
    assert expected == [title for title, *_ in alerts]
    assert alerts[0][1].startswith(WHAT)
    assert " (non_finite_origin) — " in alerts[0][1]
    assert alerts[1][1].startswith(HEADLINE)
    assert ["error", "warn"] == [level for *_, level in alerts]
    assert list(range(60)) == steps


def test_files_of_tensorboard_hold_texts_and_markers(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    watched(
        tmp_path,
        "from torch.utils.tensorboard import SummaryWriter\n"
        "with SummaryWriter('tb') as writer:\n"
        "    train(lambda step, loss: writer.add_scalar('mine', step, step))\n",
    )
    held = EventAccumulator(str(tmp_path / "tb"))
    held.Reload()

    def texts(name):
        tensors = held.Tensors(f"{name}/text_summary")
        return [(one.step, one.tensor_proto.string_val[0].decode()) for one in tensors]

    ((step, text),) = texts("stepwatch/finding")
    assert (30, True) == (step, text.startswith(FOUND))
    ((step, text),) = texts("stepwatch/verdict")
    assert (59, True) == (step, text.startswith(f"**{HEADLINE}"))
    assert "\n- verdict: found\n- advice: ROLL_BACK step 30\n" in text
    assert [(30, 1.0)] == [(one.step, one.value) for one in held.Scalars("stepwatch/findings")]
    assert 60 == len(held.Scalars("mine"))


def test_a_closed_file_of_tensorboardx_keeps_what_the_script_wrote(tmp_path):
    """It names files by the second, and empties one of the same name."""
    pytest.importorskip("tensorboardX")
    from stepwatch.trial import Trial

    watched(
        tmp_path,
        "import time\n"
        "from tensorboardX import SummaryWriter\n"
        "time.time = lambda: 1.7e9\n"  # all within one second
        "with SummaryWriter('tb') as writer:\n"
        "    train(lambda step, loss: writer.add_scalar('mine', step, step))\n",
    )
    trial = Trial(tmp_path / "tb")

    assert [*range(60)] == list(trial.tensor("metric/mine").steps())
    assert "metric/stepwatch/loss" in trial.tensor_names()


def test_an_offline_experiment_of_comet_holds_texts_and_values(tmp_path):
    """Which also tells that its own way of following imports leaves ours in place."""
    pytest.importorskip("comet_ml")
    watched(
        tmp_path,
        "import comet_ml\n"
        "run = comet_ml.OfflineExperiment(workspace='w', project_name='p', offline_directory='c')\n"
        "train(lambda step, loss: run.log_metric('mine', step, step=step))\n"
        "run.end()\n",
    )
    (archive,) = tmp_path.glob("c/*.zip")
    with zipfile.ZipFile(archive) as held:
        messages = held.read("messages.json").decode()
        texts = [held.read(name).decode(errors="ignore") for name in held.namelist()]

    assert '"key":"stepwatch/verdict"' in messages.replace(" ", "")
    assert HEADLINE in messages
    assert any(text.startswith(FOUND) for text in texts)


def test_an_offline_task_of_clearml_holds_properties_and_tags(tmp_path):
    pytest.importorskip("clearml")
    watched(
        tmp_path,
        "from clearml import Task\n"
        "Task.set_offline(True)\n"
        "task = Task.init(project_name='p', task_name='t', auto_connect_frameworks=False)\n"
        "log = task.get_logger()\n"
        "train(lambda step, loss: log.report_scalar('mine', 'a', step, step))\n"
        "task.close()\n",
        CLEARML_CACHE_DIR=str(tmp_path / "clearml"),
    )
    (archive,) = tmp_path.glob("clearml/offline/*.zip")
    with zipfile.ZipFile(archive) as held:
        task = json.loads(held.read("task.json"))
        log = held.read("log.jsonl").decode()

    assert "stepwatch found" in task["tags"]
    assert FOUND in log


class _Collector(BaseHTTPRequestHandler):
    """Takes what is sent by OTLP, as a collector does."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.taken.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def collector():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Collector)
    server.taken = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_collector_of_opentelemetry_gets_log_records_and_gauges(tmp_path, collector):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )

    _, said = watched(
        tmp_path,
        "train(lambda step, loss: None)\n",
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.server_port}",
        OTEL_SERVICE_NAME="my-training",
    )
    assert "is not finite on Gauge" not in said
    records, gauges = [], {}
    for path, body in collector.taken:
        if path == "/v1/logs":
            for one in ExportLogsServiceRequest.FromString(body).resource_logs:
                names = {a.key: a.value.string_value for a in one.resource.attributes}
                assert "my-training" == names["service.name"]
                records += [record for scope in one.scope_logs for record in scope.log_records]
        else:
            assert "/v1/metrics" == path
            for one in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in (metric for scope in one.scope_metrics for metric in scope.metrics):
                    gauges[metric.name] = metric.gauge.data_points[-1]

    assert records[0].body.string_value.startswith(FOUND)
    assert "ERROR" == records[0].severity_text
    facts = {one.key: one.value for one in records[-1].attributes}
    assert "found" == facts["stepwatch.verdict"].string_value
    assert {"stepwatch.run.findings", "stepwatch.run.step"} <= gauges.keys()


def test_a_file_for_prometheus_is_one_that_it_reads(tmp_path):
    parser = pytest.importorskip("prometheus_client.parser")
    watched(
        tmp_path, "train(lambda step, loss: None)\n", "--forward", "prometheus:file=training.prom"
    )
    text = (tmp_path / "training.prom").read_text()
    samples = [
        one for family in parser.text_string_to_metric_families(text) for one in family.samples
    ]
    found = {one.name: one for one in samples}
    # promtool refuses a gauge without
    helps = [line.split()[2] for line in text.splitlines() if line.startswith("# HELP ")]

    assert sorted(found) == sorted(helps)
    assert 59 == found["stepwatch_step"].value
    assert "found" == found["stepwatch_verdict"].labels["verdict"]
    assert "non_finite_origin" == found["stepwatch_rule_findings"].labels["rule"]
    assert str(tmp_path / "r") == found["stepwatch_step"].labels["run"]


def test_a_training_that_forwards_nothing_leaves_the_tracker_alone(tmp_path):
    pytest.importorskip("mlflow")
    watched(
        tmp_path,
        "import mlflow\n"
        "mlflow.set_tracking_uri('sqlite:///m.db')\n"
        "with mlflow.start_run():\n"
        "    train(lambda step, loss: mlflow.log_metric('mine', step, step=step))\n",
        *("--forward", "none"),
    )
    with sqlite3.connect(tmp_path / "m.db") as database:
        tags = dict(database.execute("select key, value from tags"))

    assert not [name for name in tags if name.startswith("stepwatch")]
