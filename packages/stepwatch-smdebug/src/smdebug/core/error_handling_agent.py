"""What keeps an error of a hook from the training that it watches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .logger import get_logger

BASE_ERROR_MESSAGE = "an error in smdebug; it does nothing for the rest of the training"


class ErrorHandlingAgent:
    """Gives the one agent of the process. The hooks of these packages keep their own errors."""

    _agent: Agent | None = None

    @classmethod
    def get_error_handling_agent(cls) -> Agent:
        """Return the agent."""
        if cls._agent is None:
            cls._agent = Agent()
        return cls._agent


class Agent:
    """Catches what functions raise, unless the user configured the hook.

    Attributes:
        disable_smdebug: Whether one raised; then none is called any more.
        hook: The hook; ``None`` before there is one.
    """

    def __init__(self) -> None:
        self.disable_smdebug = False
        self.hook: Any = None
        self.logger = get_logger()

    def set_hook(self, hook: Any) -> None:
        """Let a hook say whether it has its defaults: what a user configured may raise."""
        self.hook = hook

    def catch_smdebug_errors(
        self, default_return_val: Any = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator for functions that training calls.

        Args:
            default_return_val: What the function returns where it is not called, or raised; a
                function is called with its arguments for that.
        """

        def default(*args: Any, **kwargs: Any) -> Any:
            if callable(default_return_val):
                return default_return_val(*args, **kwargs)
            return default_return_val

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                if self.disable_smdebug:
                    return default(*args, **kwargs)
                try:
                    return function(*args, **kwargs)
                except Exception:  # whatever it is, training goes on
                    if self.hook is not None and not self.hook.has_default_configuration():
                        raise
                    self.logger.exception(BASE_ERROR_MESSAGE)
                    self.disable_smdebug = True
                    return default(*args, **kwargs)

            return call

        return decorate
