"""Mean and standard deviation of the channels of images."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from stepwatch.hooks.torch.collectors import batch
from stepwatch.hooks.torch.collectors.batch import channel_moments
from tests.support.hooks.torch.summaries_seen import as_on_an_accelerator, names, train, value
from tests.support.hooks.torch.trainings import X, inputs, mlp

ASKED = "channels:raw"
SCALES = torch.tensor([0.5, 1.0, 4.0])[:, None, None]


class Net(nn.Module):
    """Takes images by place or by keyword."""

    def __init__(self, channels=3):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(channels, 2, 3)

    def forward(self, image, mask=None):
        del mask
        return self.conv(image.unsqueeze(1) if image.dim() == 3 else image)


def images():
    return inputs(5, 3, 6, 7) * SCALES + SCALES


class TestChannelMoments:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.uint8])
    def test_they_are_those_of_all_other_axes(self, dtype):
        """Over batch, height and width, in float32 whatever the images are."""
        x = images().abs().mul(10).to(dtype)
        mean, std = channel_moments(x)
        exact = x.double().numpy()
        np.testing.assert_allclose(mean, exact.mean((0, 2, 3)), rtol=1e-5)
        np.testing.assert_allclose(std, exact.std((0, 2, 3)), rtol=1e-5)

    def test_images_without_channels_have_one(self):
        """Shape ``[batch, height, width]``."""
        x = images()[:, 0]
        mean, std = channel_moments(x)
        assert (1,) == mean.shape == std.shape
        assert x.mean().item() == pytest.approx(mean.item())

    def test_of_many_pixels_a_sample_comes_near(self, monkeypatch):
        """All channels are there."""
        x = inputs(8, 3, 64, 64) + SCALES
        monkeypatch.setattr(batch, "MOST_IMAGE_ELEMENTS", x.numel() // 10)
        torch.testing.assert_close(channel_moments(x)[0], x.mean((0, 2, 3)), atol=0.1, rtol=0)

    def test_a_nan_spoils_its_channel_only(self):
        """It is not hidden."""
        x = images()
        x[0, 1, 0, 0] = torch.nan
        assert [False, True, False] == channel_moments(x)[0].isnan().tolist()


class TestChannels:
    def test_images_are_told_by_the_name_of_the_input(self, watched):
        """With how many they are."""
        with watched(policy=[ASKED]) as seen:
            train(Net(), images())

        mean, std = channel_moments(images())
        np.testing.assert_array_equal(mean, value(seen, "channel_mean/0"))
        np.testing.assert_array_equal(std, value(seen, "channel_std/0"))
        assert value(seen, "channel_images/0") == 5.0

    def test_they_are_found_by_keyword_and_in_other_models(self, watched):
        """Names are those of the batches."""
        first, second = Net(), Net(2)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
        with watched(policy=[ASKED]) as seen:
            second(image=first(images())).sum().backward()
            optimizer.step()

        of_means = [name for name in names(seen, "channels") if "mean" in name]
        assert ["channel_mean/0", "channel_mean/Net_2/image"] == of_means

    def test_what_is_no_image_has_no_channels(self, watched):
        """Two dimensions, or a mask."""
        mask = torch.ones(5, 1, 6, 7, dtype=torch.bool)
        with watched(policy=[ASKED]) as seen:
            train(mlp(), X)
            model = Net()
            train(model, images(), run=lambda x: model(x, mask))

        assert {"channel_mean/Net/0"} == {n for n in names(seen, "channels") if "mean" in n}

    def test_the_first_of_several_batches_is_told(self, watched):
        """With gradient accumulation."""
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with watched(policy=[ASKED]) as seen:
            for x in (images(), images()[:2] + 1):
                model(x).sum().backward()
            optimizer.step()

        assert value(seen, "channel_images/0") == 5.0
        expected = channel_moments(images())[0]
        np.testing.assert_array_equal(expected, value(seen, "channel_mean/0"))

    def test_those_of_an_accelerator_come_with_the_end_of_the_step(self, watched, monkeypatch):
        """They are the same; here the CPU plays the accelerator."""
        as_on_an_accelerator(monkeypatch)
        with watched(policy=[ASKED]) as seen:
            train(Net(), images())

        expected = channel_moments(images())[0]
        np.testing.assert_array_equal(expected, value(seen, "channel_mean/0"))

    def test_by_default_nothing_is_computed(self, watched, monkeypatch):
        """Nor at other steps than those that were asked for."""
        steps, losses = [], []
        original = batch.channel_moments
        monkeypatch.setattr(
            batch, "channel_moments", lambda x: (steps.append(len(losses)), original(x))[1]
        )
        with watched():
            train(Net(), images())
        assert [] == steps
        losses = []
        with watched(policy=["channels:raw:every=2"]):
            train(Net(), images(), steps=3, losses=losses)
        assert [0, 2] == steps

    def test_losses_are_those_of_an_unwatched_training(self, watched):
        """To the last bit."""

        def losses():
            return train(Net(), images(), steps=2)

        expected = losses()
        with watched(policy=[ASKED]):
            assert expected == losses()
