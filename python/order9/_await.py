"""Awaiting a system call: the call goes to the machine, and its answer comes back."""

from collections.abc import Generator
from typing import Any


def once(call: Any) -> Generator[Any, Any, Any]:
    """Yields ``call`` to the machine and returns the answer."""
    return (yield call)
