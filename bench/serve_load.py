"""What ``stepwatch serve`` costs under load: many jobs at once, and clients that ask and ask.

It prints how long it takes to create jobs at once, how many times a second they can be described
while they train, and how much processor time of the server each describing takes.

    python bench/serve_load.py              # 20 jobs, 10 s of describing at 200 a second
    python bench/serve_load.py --jobs 5 --seconds 2
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

# It waits without a processor, until it is told to end or nobody is left to tell it.
WAITS = """
import os, time
while not os.path.exists(os.environ["END"]):
    time.sleep(0.5)
"""
CLIENTS = 8


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has taken, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """Asks the server as a client of SageMaker does: over one connection that it keeps.

    Args:
        url: Where the server listens; its path is the secret.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._path = parts.path
        self._connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)

    def ask(self, operation: str, **request: object) -> dict[str, object]:
        """Return what an operation answers."""
        headers = {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": f"SageMaker.{operation}",
        }
        self._connection.request("POST", self._path, json.dumps(request).encode(), headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{operation}: {body.decode()}")
        found: dict[str, object] = json.loads(body)
        return found


def creation(name: str, folder: Path) -> dict[str, object]:
    """Return what ``CreateTrainingJob`` is asked."""
    return {
        "TrainingJobName": name,
        "AlgorithmSpecification": {"TrainingImage": "image:1", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::000000000000:role/stepwatch",
        "OutputDataConfig": {"S3OutputPath": f"file://{folder}/out"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.xlarge",
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "Environment": {"END": str(folder / "end")},
        "HyperParameters": {
            "sagemaker_program": json.dumps("train.py"),
            "sagemaker_submit_directory": json.dumps(f"file://{folder}/source.tar.gz"),
        },
    }


def wait_for_status(url: str, names: list[str], statuses: tuple[str, ...]) -> float:
    """Wait until all jobs have one of these statuses; return how long, seconds."""
    client, begun = Client(url), time.perf_counter()
    for name in names:
        while True:
            found = client.ask("DescribeTrainingJob", TrainingJobName=name)
            if found["SecondaryStatus"] in statuses or found["TrainingJobStatus"] in statuses:
                break
            time.sleep(0.2)
    return time.perf_counter() - begun


def describe(url: str, names: list[str], per_second: int, seconds: float) -> list[float]:
    """Describe jobs in turn, so many times a second; return how long each took, seconds."""
    took: list[float] = []
    begun = time.perf_counter()
    turn = iter(range(int(per_second * seconds)))
    lock = threading.Lock()

    def work() -> None:
        client = Client(url)
        while True:
            with lock:
                number = next(turn, None)
            if number is None:
                return
            time.sleep(max(0.0, begun + number / per_second - time.perf_counter()))
            at = time.perf_counter()
            client.ask("DescribeTrainingJob", TrainingJobName=names[number % len(names)])
            took.append(time.perf_counter() - at)

    with ThreadPoolExecutor(CLIENTS) as pool:
        for _ in range(CLIENTS):
            pool.submit(work)
    return took


def main() -> None:
    """Create, describe, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--per-second", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    names = [f"job-{number}" for number in range(given.jobs)]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "train.py").write_text(WAITS)
        with tarfile.open(folder / "source.tar.gz", "w:gz") as archive:
            archive.add(folder / "train.py", "train.py")
        server = subprocess.Popen(
            [sys.executable, "-m", "stepwatch", "serve", "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "STEPWATCH_JOBS": str(folder / "jobs"),
                "STEPWATCH_JOBS_AT_ONCE": str(given.jobs),
            },
        )
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        try:
            begun = time.perf_counter()
            with ThreadPoolExecutor(given.jobs) as pool:
                list(
                    pool.map(
                        lambda name: Client(url).ask("CreateTrainingJob", **creation(name, folder)),
                        names,
                    )
                )
            created = time.perf_counter() - begun
            print(f"{given.jobs} jobs created at once: {created:.2f} s")
            training = wait_for_status(url, names, ("Training", "Failed"))
            print(f"all of them train after {created + training:.1f} s")
            before, begun = cpu_s(server.pid), time.perf_counter()
            took = sorted(describe(url, names, given.per_second, given.seconds))
            seconds = time.perf_counter() - begun
            each = (cpu_s(server.pid) - before) / len(took) * 1e3
            print(
                f"described {len(took) / seconds:.0f} times a second: {each:.2f} ms of processor "
                f"time each; {took[len(took) // 2] * 1e3:.1f} ms until the answer (median), "
                f"{took[int(len(took) * 0.99)] * 1e3:.1f} ms (99 %)"
            )
        finally:
            (folder / "end").touch()
            try:
                wait_for_status(url, names, ("Completed", "Failed"))
            finally:
                server.kill()
                server.wait()


if __name__ == "__main__":
    main()
