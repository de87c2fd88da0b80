"""Law: a claim that holds for everything that is offered, and the report of one that is broken."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bridgeval.errors import NeedError

# Frames of this package are not where an author looks for a fault.
PACKAGE = str(Path(__file__).parents[1])
LIBRARY = sysconfig.get_path("stdlib")
UNDECLARED = ("it reads data that needs() does not declare", "add the data to needs()")


@dataclass(frozen=True)
class Law:
    """A law, the test of it, and advice for those who break it.

    Attributes:
        name: what holds, so that "breaks the law that ..." is a sentence.
        keep: tests it: raises if a trial breaks it. Its docstring is the law in full.
        cause: the likely cause of a break.
        remedy: what to do about it.
    """

    name: str
    keep: Callable[[Any], None]
    cause: str
    remedy: str

    def test(self, who: str, trial: Any) -> None:
        """Raises AssertionError with the law, what was found, the likely cause and what to do."""
        try:
            self.keep(trial)
        except Broken as broken:
            raise AssertionError(
                self._report(who, broken.found, broken.cause or self.cause, broken.remedy or self.remedy)
            ) from broken.__cause__
        except Exception as error:
            raise AssertionError(self._report(who, describe_error(error), *blame_error(error))) from error

    def _report(self, who: str, found: str, cause: str, remedy: str) -> str:
        return f"{who} breaks the law that {self.name}: {found}\n  likely cause: {cause}\n  what to do: {remedy}"


def law(name: str, *, cause: str, remedy: str) -> Callable[[Callable[[Any], None]], Law]:
    """Makes a law of the function that tests it."""
    return lambda keep: Law(name, keep, cause, remedy)


class Broken(AssertionError):
    """A law is broken.

    Attributes:
        found: what was found.
        cause: the cause, where it is known better than the law knows.
        remedy: what to do about that cause.
    """

    def __init__(self, found: str, cause: str = "", remedy: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.cause = cause
        self.remedy = remedy


def require(holds: bool, otherwise: str, cause: str = "", remedy: str = "") -> None:
    if not holds:
        refuse(otherwise, cause, remedy)


def refuse(found: str, cause: str = "", remedy: str = "") -> NoReturn:
    raise Broken(found, cause, remedy)


def keep_laws(who: str, laws: Iterable[Law], trial: Any) -> None:
    """Tests one law after the other; the first that is broken raises."""
    for law in laws:
        law.test(who, trial)


def describe_error(error: BaseException) -> str:
    """An exception and the line of the author's code that it came from."""
    root = error.__cause__ or error
    theirs = [one for one in traceback.extract_tb(root.__traceback__) if _is_theirs(one)]
    where = f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno}, in {theirs[-1].name})" if theirs else ""
    return f"it raised {type(root).__name__}: {root}{where}"


def _is_theirs(frame: traceback.FrameSummary) -> bool:
    return not frame.filename.startswith((PACKAGE, LIBRARY, "<frozen"))


def blame_error(error: BaseException) -> tuple[str, str]:
    """The likely cause of an exception, and what to do."""
    root = error.__cause__ or error
    if isinstance(root, NeedError) or (isinstance(root, KeyError) and "blocks" in describe_error(error)):
        return UNDECLARED
    if not any(_is_theirs(one) for one in traceback.extract_tb(root.__traceback__)):
        return (
            "it gives something that the engine cannot use",
            "return what the base asks for: plain tensors of numbers, without gradients, and states that merge",
        )
    return (
        "its own code raises for data that occur: short and empty lists, users whom one side lacks, k beyond a list",
        "make it answer for such users too; a metric gives NaN where it is undefined",
    )
