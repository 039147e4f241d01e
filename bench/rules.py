"""Measures what rules cost: each alone and all together in replay, and the default set live.

python bench/rules.py                    # 130 layers, about 400 tensors, 1000 steps
python bench/rules.py --layers 20 --steps 200
python bench/rules.py --live             # and on the records of the GPT, beside its step
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))
from stepwatch.errors import ConfigError
from stepwatch.model.record import StepRecord
from stepwatch.plugins import registry
from stepwatch.rules import DEFAULT_RULES, StepView, Watch, parse_rules
from tests.support.rules.made_runs import MadeRun

#: Seconds of processor time for all rules together, 400 tensors and 1000 steps.
TARGET_S = 5.0
#: Of the processor time of a training step, for the default set.
LIVE_TARGET = 0.01
# What a rule must be told to be asked at all.
_PARAMETERS = {
    "all_zero": "collection_names=outputs",
    "unchanged_tensor": "collection_names=weights",
    "tensor_variance": "collection_names=weights,max_threshold=100",
}
_LEFT_OUT = ("similar_across_runs",)  # it reads other runs


def specs() -> list[str]:
    """Return all rules that can be asked of one run."""
    names = [name for name in registry.names("stepwatch.rules") if name not in _LEFT_OUT]
    return [f"{name}:{_PARAMETERS[name]}" if name in _PARAMETERS else name for name in names]


def cpu_seconds(rules: Sequence[str], records: Sequence[StepRecord]) -> tuple[float, Watch]:
    """Return the processor time that rules take for records, in seconds, and how they ended."""
    watch = Watch(list(rules))
    began = time.thread_time()
    for record in records:
        watch.evaluate(StepView([record]))
    watch.finish()
    return time.thread_time() - began, watch


def print_replay(layers: int, steps: int) -> None:
    """Print what each rule and all together cost in replay."""
    records = list(MadeRun(layers, steps).records())
    tensors = [len(record.layout) for record in records]
    print(f"{len(records)} steps of {min(tensors)} to {max(tensors)} tensors")
    engine, _ = cpu_seconds([], records)
    print(f"{engine:7.3f} s  no rule")
    timed = []
    for spec in specs():
        seconds, watch = cpu_seconds([spec], records)
        (status,) = watch.statuses()
        timed.append((seconds, spec, status))
    for seconds, spec, status in sorted(timed, key=lambda one: -one[0]):
        why = "" if status.status == "NoIssuesFound" else f"  {status.details[:70]}"
        print(f"{seconds:7.3f} s  {spec:32s} {status.status}{why}")
    for what, rules in (("default set", DEFAULT_RULES), ("all together", specs())):
        seconds, _ = cpu_seconds(rules, records)
        print(f"{seconds:7.3f} s  {what} ({1000 * seconds / len(records):.3f} ms a step)")
    print(f"the target for all together is {TARGET_S} s with 130 layers and 1000 steps")


def print_live(steps: int) -> None:
    """Print the processor time of ``LiveWatch.on_step`` on a GPT's records, beside its steps."""
    import torch
    from ways import Watched

    from stepwatch import LiveWatch

    torch.set_num_threads(1)
    kept: list[StepRecord] = []
    with TemporaryDirectory() as folder:
        training = Watched("gpt", Path(folder) / "run")
        take = training.hook.recorder.take

        def keep(*arguments: object) -> StepRecord | None:
            record = take(*arguments)  # type: ignore[arg-type]  # as it was called
            kept.extend([record] if record is not None else [])
            return record

        training.hook.recorder.take = keep  # type: ignore[method-assign]
        began = time.thread_time()
        for _ in range(steps):
            training.step()
        step_s = (time.thread_time() - began) / steps
        training.close()
    watch = LiveWatch(DEFAULT_RULES)
    watch.on_step(kept[0])  # layouts are looked into once
    began = time.thread_time()
    for record in kept[1:]:
        watch.on_step(record)
    look_s = (time.thread_time() - began) / (len(kept) - 1)
    print(
        f"GPT, {len(kept[-1].layout)} tensors: {1000 * look_s:.3f} ms of {1000 * step_s:.1f} ms,"
        f" {look_s / step_s:.2%} of a step (target {LIVE_TARGET:.0%})"
    )


def main() -> None:
    """Measure as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=130)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--live", action="store_true")
    chosen = parser.parse_args()
    try:
        parse_rules(specs())
    except ConfigError as error:
        parser.error(f"a rule needs a parameter that is not given here: {error}")
    print_replay(chosen.layers, chosen.steps)
    if chosen.live:
        print_live(60)


if __name__ == "__main__":
    main()
