"""What is saved beside the statistics: digests and histograms of exponents."""

from __future__ import annotations

import numpy as np
import pytest

from stepwatch.capture.open_step import OpenStep
from stepwatch.capture.plan import DIGEST, EXPONENTS, RAW, STATISTICS, Plan
from stepwatch.capture.recorder import Recorder
from stepwatch.errors import ConfigError
from stepwatch.formats.manifest import Manifest
from stepwatch.model.collection import as_collections, parse_save
from stepwatch.model.record import TensorInfo
from stepwatch.model.save_policy import SavePolicy, Schedule
from stepwatch.model.steps import Mode
from stepwatch.numerics.digest import digest
from stepwatch.numerics.exponents import count_exponents
from stepwatch.numerics.statistics import summarize
from stepwatch.trial import Trial

FIRST = np.array([1.0, -0.25, 0.0], np.float32)
SECOND = np.array([[3.0, 1e-30]], np.float32)


def info(name="w", kind="weights"):
    return TensorInfo(name, kind, "float32", (3,))


def opened(*saves, step=0):
    return OpenStep(Plan(as_collections(saves)), Mode.TRAIN, step)


class TestPlan:
    def test_each_is_asked_for_by_itself(self):
        """Statistics come with all; what was not asked for does not."""
        saves = ("weights:digest:every=2", "/w/:exponents:every=3", "/w/:raw:every=5")
        found = [opened(*saves, step=step).level(info()) for step in (0, 1, 2, 3, 5, 6)]

        assert [
            STATISTICS | DIGEST | EXPONENTS | RAW,
            STATISTICS,
            STATISTICS | DIGEST,
            STATISTICS | EXPONENTS,
            STATISTICS | RAW,
            STATISTICS | DIGEST | EXPONENTS,
        ] == found

    def test_they_are_saved_where_statistics_are_not(self):
        """A step that has a digest has statistics."""
        policy = SavePolicy(None, digest=Schedule(every=2))
        levels = [
            OpenStep(Plan(as_collections(policy)), Mode.TRAIN, step).level(info())
            for step in (0, 1)
        ]
        assert [STATISTICS | DIGEST, 0] == levels

    def test_a_save_text_says_the_same_as_a_policy(self):
        """``COLLECTION:WHAT:SCHEDULE``."""
        assert SavePolicy(digest=Schedule(every=4)) == parse_save("weights:digest:every=4").policy
        assert SavePolicy(exponents=Schedule()) == parse_save("/fc/:exponents").policy

    def test_a_misspelled_word_is_answered_with_all_there_are(self):
        """The way out."""
        with pytest.raises(ConfigError, match="statistics, raw, digest, exponents or none"):
            parse_save("weights:digests")

    def test_the_manifest_keeps_what_was_asked(self):
        """And one from before, which knows nothing of it, is read."""
        collections = as_collections(["weights:digest:every=4", "losses:exponents"])
        text = Manifest("run", 0, collections=collections).to_json()

        assert collections == Manifest.from_json("run.json", text).collections
        old = text.replace(b'"digest"', b'"other"').replace(b'"exponents"', b'"another"')
        assert [SavePolicy()] * 2 == [
            one.policy for one in Manifest.from_json("run.json", old).collections
        ]


class TestOpenStep:
    def test_what_was_asked_for_is_noted(self):
        """Of the tensors it was asked for, beside their statistics."""
        step = opened("weights:digest", "gradients:exponents")
        step.add(info(), FIRST)
        step.add(info("g", "gradients"), SECOND)

        assert {"w": digest(FIRST)} == step.digests
        assert ["g"] == list(step.exponents)
        assert count_exponents(SECOND).tolist() == step.exponents["g"].tolist()
        assert summarize(FIRST).tolist() == step.statistics_of(0).tolist()
        assert {} == step.raw

    def test_of_repeated_observations_the_last_digest_and_all_exponents_count(self):
        """As the last full value is kept, and all statistics are merged."""
        step = opened("weights:digest", "/w/:exponents")
        for array in (FIRST, SECOND):
            step.add(info(), array)

        both = count_exponents(FIRST) + count_exponents(SECOND)
        assert {"w": digest(SECOND)} == step.digests
        assert both.tolist() == step.exponents["w"].tolist()

    def test_a_step_that_joins_another_brings_its_own(self):
        """What was taken for an evaluation."""
        steps = [opened("weights:digest", "/w/:exponents") for _ in range(2)]
        for step, array in zip(steps, (FIRST, SECOND), strict=True):
            step.add(info(), array)
        steps[0].absorb(steps[1])

        both = count_exponents(FIRST) + count_exponents(SECOND)
        assert {"w": digest(SECOND)} == steps[0].digests
        assert both.tolist() == steps[0].exponents["w"].tolist()

    def test_another_name_of_a_tensor_is_looked_at_again_for_them(self):
        """It is not noted by its statistics alone."""
        step = opened("outputs:digest")
        row = step.add(info("output/0", "outputs"), FIRST)

        assert not step.alias(info("output/whole", "outputs"), row)
        assert "output/whole" not in step


class TestRecorder:
    def test_they_come_back_from_the_run(self, tmp_path):
        """From the open step to the reader."""
        recorder = Recorder(tmp_path / "run", policy=["weights:digest", "/w/:exponents:every=2"])
        for _ in range(3):
            recorder.open_step(Mode.TRAIN).add(info(), FIRST)
            recorder.end_step(Mode.TRAIN)
        recorder.close()
        tensor = Trial(tmp_path / "run").tensor("w")

        assert dict.fromkeys(range(3), digest(FIRST)) == tensor.digests()
        assert count_exponents(FIRST).tolist() == tensor.exponents(2).tolist()
