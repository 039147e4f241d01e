"""A long training of small steps, watched with all defaults and by a dashboard.

It prints how many files the run has, how much memory the training process and the dashboard hold,
and how long a step takes, at ten moments. None of the three may grow with the run.

    python bench/soak.py                    # 200,000 steps, some minutes
    python bench/soak.py --steps 20000
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path

#: What an open page asks for at first; from then on of numbers only what came since.
ASKED = (
    "api/runs",
    "api/run?run=run",
    "api/scalars?run=run&points=600",
    "api/matrix?run=run&collection=gradients&points=600",
)
COLUMNS = (
    "step",
    "ms a step",
    "files",
    "of full values",
    "MiB on disk",
    "training, MiB",
    "with mapped files, MiB",
    "dashboard, MiB",
)
#: What a process holds by itself. Pages of mapped files, as the black box is one, are the system's:
#: it writes and drops them as it likes, and counts them as private where one process has them.
OWN, PRIVATE = "Anonymous", ("Private_Clean", "Private_Dirty")
STEPWATCH = (sys.executable, "-m", "stepwatch")
SCRIPT = """\
import sys, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(64, 16)
y = x.sum(1, keepdim=True)
steps = int(sys.argv[1])
begun = time.perf_counter()
for step in range(1, steps + 1):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x[torch.randint(64, (32,))]), y[:32])
    loss.backward()
    optimizer.step()
    if step % (steps // 10) == 0:
        now = time.perf_counter()
        print(step, (now - begun) / (steps // 10) * 1e3, flush=True)
        begun = now
"""


def memory_mib(pid: int, *parts: str) -> float:
    """Return parts of the memory of a process, as the kernel names them, added up, MiB."""
    sizes = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, size, _ = line.split()
        sizes[name.rstrip(":")] = int(size) / 1024
    return sum(sizes[part] for part in parts)


def look(url: str, ended: threading.Event) -> None:
    """Ask for what an open page asks for, as often as it does.

    Raises:
        urllib.error.HTTPError: The dashboard does not know what it is asked for.
    """
    root, _, token = url.partition("?token=")
    since = ""
    while not ended.wait(1.0):
        for path in ASKED:
            asked = urllib.request.Request(
                root + path + (since if "scalars" in path else ""),
                headers={"Authorization": f"Bearer {token}"},
            )
            try:
                answer = json.load(urllib.request.urlopen(asked, timeout=60))
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.NOT_FOUND:
                    raise
                break  # there is no run yet
            if answer.get("lines"):
                width = max(line["width"] for line in answer["lines"])
                since = f"&width={width}&since={answer['last_step'] // width * width}"


def main() -> None:
    """Train, look, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script, run = Path(folder, "train.py"), Path(folder, "runs", "run")
        script.write_text(SCRIPT)
        run.parent.mkdir()
        dash = subprocess.Popen(
            [*STEPWATCH, "dash", str(run.parent), "--port", "0", "--no-open"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert dash.stdout is not None
        found = re.search(r"http://\S+", dash.stdout.readline())
        assert found is not None
        ended = threading.Event()
        watching = threading.Thread(target=look, args=(found[0], ended))
        watching.start()
        training = subprocess.Popen(
            [*STEPWATCH, "run", "-q", "--run", str(run), str(script), str(given.steps)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
        )
        assert training.stdout is not None
        print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
        kept = []
        for line in training.stdout:
            step, ms = line.split()
            files = [path for path in run.rglob("*") if path.is_file()]
            row = {
                "step": int(step),
                "ms": float(ms),
                "files": len(files),
                "full_values": sum(path.suffix == ".safetensors" for path in files),
                "disk_mib": sum(path.stat().st_size for path in files if path.exists()) / 2**20,
                "training_mib": memory_mib(training.pid, OWN),
                "training_and_files_mib": memory_mib(training.pid, *PRIVATE),
                "dashboard_mib": memory_mib(dash.pid, OWN),
            }
            kept.append(row)
            print(
                f"| {step} | {' | '.join(f'{x:.4g}' for x in list(row.values())[1:])} |", flush=True
            )
        training.wait()
        ended.set()
        watching.join()
        dash.terminate()
        dash.wait()
    if given.json:
        given.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
