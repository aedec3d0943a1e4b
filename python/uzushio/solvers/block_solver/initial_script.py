"""Initial fields by a function of the user, in a Python file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from uzushio._base.array_values import real
from uzushio._base.config.user_function import load_function
from uzushio._base.error_text import error_message
from uzushio.errors import CaseError


class InitialScript:
    """Function `initial(name, x, y, z)` of a file, which returns values or None.

    Args:
        file: the file; None: there are no values.

    Raises:
        CaseError: the file cannot be executed, or has no such function.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._function: Callable[..., Any] | None = None
        if file is not None:
            try:
                self._function = load_function(file, "initial")
            except ValueError as error:
                raise CaseError(f"initial.script: {error}.") from error

    def values(self, name: str, positions: Sequence[np.ndarray]) -> np.ndarray | None:
        """Return values at positions, in their shape; None: the function has none of this name.

        Raises:
            CaseError: the function fails, or its result does not fit.
        """
        if self._function is None:
            return None
        assert self._file is not None
        try:
            result = self._function(name, *positions)
            if result is None:
                return None
            return np.broadcast_to(real(result, f"the result for {name}"), positions[0].shape)
        except Exception as error:
            raise CaseError(f"initial.script: {error_message(self._file, error)}.") from error
