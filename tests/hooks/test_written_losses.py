"""Losses that scripts write out, read from their code."""

from __future__ import annotations

import pytest

from stepwatch.hooks.written_losses import turned_quantiles

KERAS = """
class Pinball(keras.losses.Loss):
    def call(self, y_true, y_pred):
        total = 0.0
        for k, q in enumerate(self.quantiles):
            err = {0}
            total = total + ops.maximum(q * err, (q - 1.0) * err)
        return total
"""
TORCH = """
def quantile_loss(pred, target, q):
    diff = {0}
    return torch.{1}.mean()
"""


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (KERAS.format("y_pred[..., k] - y_true"), ("Pinball",)),
        (KERAS.format("y_true - y_pred[..., k]"), ()),
        (TORCH.format("pred[:, 0] - target", "max((q - 1) * diff, diff * q)"), ("quantile_loss",)),
        (TORCH.format("target - pred[:, 0]", "max((q - 1) * diff, diff * q)"), ()),
        (TORCH.format("pred - target", "where(diff >= 0, q * diff, (q - 1) * diff)"),
         ("quantile_loss",)),
        (TORCH.format("pred - target", "max((1 - q) * diff, -q * diff)"), ()),
        (TORCH.format("pred - baseline", "max((q - 1) * diff, diff * q)"), ()),
        ("loss = jnp.maximum(q * (yhat - y), (q - 1) * (yhat - y))\n", ("the script",)),
        ("def loss(y, yhat): return (yhat - y) ** 2\n", ()),
        ("def broken(:\n", ()),
    ],
    ids=[
        *("keras", "keras right", "torch", "torch right", "where", "other factors"),
        *("no target", "without a name", "another loss", "no code"),
    ],
)  # fmt: skip
def test_the_loss_of_the_opposite_quantile_is_found(code, found, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(code)

    assert found == turned_quantiles(str(script))
