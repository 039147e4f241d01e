"""Writes down what a training was told, in its files and variables, and trains nothing."""

import json
import os
import sys
from pathlib import Path

folder = os.environ.get("SM_CHANNEL_TRAINING")
told = {
    "training": {one.name: one.read_text() for one in Path(folder).iterdir()} if folder else None,
    "hyperparameters": json.loads(os.environ["SM_HPS"]),
    "arguments": sys.argv[1:],
    "hosts": json.loads(os.environ["SM_HOSTS"]),
    "mine": os.environ.get("MINE"),
}
print(f"I am {os.environ['SM_CURRENT_HOST']}")
if os.environ["SM_CURRENT_HOST"] == "algo-1":
    Path(os.environ["SM_OUTPUT_DATA_DIR"], "told.json").write_text(json.dumps(told))
    Path(os.environ["SM_MODEL_DIR"], "weights.txt").write_text("of the model")
