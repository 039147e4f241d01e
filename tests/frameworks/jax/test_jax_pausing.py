"""The hook for JAX beside other hooks of a run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from stepwatch.hooks.jax import JaxHook
from stepwatch.model.steps import Mode
from stepwatch.trial import Trial

pytestmark = pytest.mark.framework


class TestPausing:
    def test_what_runs_while_it_looks_away_is_not_seen(self, tmp_path):
        """Another framework may run on JAX, whose hook sees it; then it looks again."""
        plain = jax.jit
        hook = JaxHook(tmp_path / "run", say=lambda _: None, strict=True)
        gradient = jax.jit(jax.grad(lambda w: jnp.sum(w**2)))
        gradient(jnp.ones(2))
        hook.pause()
        gradient(jnp.ones(2))
        jax.grad(jnp.sum)(jnp.ones(2))
        hook.resume()
        gradient(jnp.ones(2))
        hook.pause()
        hook.close()

        assert 2 == len(Trial(tmp_path / "run").steps(Mode.TRAIN))
        assert jax.jit is plain

    def test_what_somebody_else_wraps_meanwhile_stays(self, tmp_path):
        """And is seen once by a hook that takes hold again."""
        hook = JaxHook(tmp_path / "run", say=lambda _: None, strict=True)
        ours, jitted = jax.jit, []

        def theirs(function, **options):
            jitted.append(function)
            return ours(function, **options)

        jax.jit = theirs
        try:
            hook.detach()
            hook.attach()
            gradient = jax.jit(jax.grad(lambda w: jnp.sum(w**2)))
            for _ in range(2):
                gradient(jnp.ones(2))
            hook.close()
            assert jax.jit is theirs
        finally:
            jax.jit = ours.__wrapped__

        trial = Trial(tmp_path / "run")
        assert jitted
        assert [0, 1] == trial.steps(Mode.TRAIN)
        assert [2, 2] == list(trial.tensor("gradient/w").statistics()["count"])

    def test_of_two_hooks_the_last_one_looks(self, tmp_path):
        """And the first again, once the other has let go."""
        gradient_of = jax.grad
        with JaxHook(tmp_path / "first", say=lambda _: None, strict=True):
            gradient = jax.jit(jax.grad(lambda w: jnp.sum(w**2)))
            gradient(jnp.ones(2))
            with JaxHook(tmp_path / "second", say=lambda _: None, strict=True):
                for _ in range(3):
                    gradient(jnp.ones(2))
            gradient(jnp.ones(2))

        runs = [Trial(tmp_path / name) for name in ("first", "second")]
        assert [2, 3] == [len(run.steps(Mode.TRAIN)) for run in runs]
        assert jax.grad is gradient_of
