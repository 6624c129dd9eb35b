"""The errors and warnings a user may want to catch by name, and how to warn."""

import os
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

__all__ = [
    "ChangedRowsError",
    "ConvergenceWarning",
    "ImpossibleCellWarning",
    "ImpossibleRowWarning",
    "ImproperError",
    "IncompleteDrawsError",
    "ModelFileError",
    "NotConjugateError",
    "OverconfidentWarning",
    "RowError",
    "RowTypeError",
    "SeveralModelsError",
    "UndeclaredIntegersError",
    "UndefinedEstimateError",
    "UnlabelledWarning",
    "UnseenLevelWarning",
]

# Folders whose lines no user wrote: this package, and what calls it for a user, as a pipeline or a decorator does.
_PACKAGE, _CALLERS = Path(__file__).parent, ("sklearn", "joblib", "numpy")


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point at the line of the user that led here, however deep the call."""
    loaded = [getattr(sys.modules.get(name), "__file__", None) for name in _CALLERS]
    folders = [_PACKAGE, *(Path(file).parent for file in loaded if file)]
    warnings.warn(message, category, skip_file_prefixes=tuple(f"{folder}{os.sep}" for folder in folders))


class UndefinedEstimateError(ValueError):
    """An estimate (maximum likelihood, mode or mean) does not exist for these data and this prior."""


class ImproperError(ValueError):
    """A prior or posterior does not integrate to one, and the request needs it to."""


class IncompleteDrawsError(ValueError):
    """A sampler or an approximation returned too few draws of the posterior, or some that are not finite."""


class ImpossibleRowWarning(UserWarning):
    """A row has probability zero under every class; its class weights were returned."""


class UnlabelledWarning(UserWarning):
    """Rows without a label make the predictions of labelled rows worse; see ``unlabelled_weight=``."""


class OverconfidentWarning(UserWarning):
    """Left-out labels are predicted far worse than the model expects; see ``calibration=``."""


class ImpossibleCellWarning(UserWarning):
    """A cell lies outside of the density that was chosen for its column; it was skipped."""


class UnseenLevelWarning(UserWarning):
    """A row holds a level that did not occur in training; the cell was skipped."""


class ModelFileError(ValueError):
    """A file does not hold a model that this version of bayesppl can read."""


class ConvergenceWarning(UserWarning):
    """Draws that cannot be trusted yet: chains disagree, are too short, or met places they could not explore."""


class NotConjugateError(ValueError):
    """The request needs a closed form, and this prior has none."""


class SeveralModelsError(AttributeError, ValueError):
    """The request needs one declared model, and the estimator holds several."""


class UndeclaredIntegersError(ValueError):
    """Columns hold whole numbers, and nothing declares whether these are measurements, counts or codes.

    Parameters
    ----------
    message : str
    columns : list
        Their names, which are an attribute of the error.
    """

    def __init__(self, message: str, columns: list[Hashable]) -> None:
        super().__init__(message)
        self.columns = columns

    def __reduce__(self) -> tuple[type["UndeclaredIntegersError"], tuple[str, list[Hashable]]]:
        return type(self), (str(self), self.columns)


class ChangedRowsError(ValueError):
    """The rows of the fit are needed again, and the caller has changed them in place."""


class RowError(ValueError):
    """One row of the data is refused, by its place, counted from zero.

    Where a table is read a part at a time, the place is that in the whole table.

    Parameters
    ----------
    before, after : str
        The message around the place of the row.
    row : int
        The place, which is an attribute of the error.
    """

    def __init__(self, before: str, row: int, after: str) -> None:
        super().__init__(f"{before}{row}{after}")
        self.row = row
        self._parts = before, row, after

    def at(self, row: int) -> "RowError":
        """Return the same refusal, of the row at another place."""
        before, _, after = self._parts
        return type(self)(before, row, after)

    def within(self, part: str) -> "RowError":
        """Return the same refusal, where the row is one of a part of the table."""
        before, row, after = self._parts
        return type(self)(before, row, part + after)

    def __reduce__(self) -> tuple[type["RowError"], tuple[str, int, str]]:
        return type(self), self._parts


class RowTypeError(RowError, TypeError):
    """One row of the data is refused, for the type of one of its cells."""


class ImproperRowError(RowError, ImproperError):
    """Without one row the posterior is improper."""


class UndefinedRowError(RowError, UndefinedEstimateError):
    """Without one row there is no estimate."""


@contextmanager
def rows_at(place: Callable[[int], int]) -> Iterator[None]:
    """Raise refusals of a row again, with its place in the whole table, which ``place`` finds."""
    try:
        yield
    except RowError as error:
        raise error.at(int(place(error.row))) from None


def rows_before(n_rows: int) -> AbstractContextManager[None]:
    """Raise refusals of a row again, with its place in a table of which ``n_rows`` rows came before."""
    return rows_at(lambda row: n_rows + row)
