"""Every exception that bridgeval raises, and every warning.

    BridgevalError
    |- InputError(ValueError)       the data cannot be evaluated as it is
    |  |- MissingColumnError(KeyError)  a column that is needed is not there, or cannot be told from others
    |  |- BadValueError             a cell cannot be used: NaN, infinite, null, of the wrong type
    |  |- MisalignedError           the two sides do not match: integer ids and string ids, scores and ids
    |  `- StateFileError            a state file cannot be written, read, or merged with the others
    |- SpecError(ValueError)        the metric asked for cannot be made
    |  |- UnknownMetricError(KeyError)  no metric has this name; carries the nearest names
    |  `- BadParameterError         the metric exists, the parameter or its value does not
    |- NeedError(ValueError)        a metric needs data that was not given; names the argument that gives it
    |- LoaderError(TypeError)       the objects cannot be read
    |  |- NoLoaderError             no loader recognizes them
    |  |- AmbiguousLoaderError      several do
    |  `- MissingDependencyError    a package has to be installed first
    |- ConfigError(ValueError)      a config file or one of its settings is wrong
    |- MetricFailedError            a metric written in Python raised; carries metric and user
    |- SparkFailedError             Spark gave a job up: a worker was killed, a result was too large
    `- PluginError                  a plugin misbehaves
       |- DuplicateNameError        two plugins offer one name
       `- PluginFailedError         a plugin could not be imported or raised in a hook

    BridgevalWarning(UserWarning)   something that a person should know; the numbers are computed all the same
    |- DataWarning                  a sign that data was misread; `inspect` says more
    |  |- NoUserInCommonWarning     nobody who has relevant items was shown anything
    |  |- NoItemInCommonWarning     no relevant item is in any list
    |  |- RisingScoresWarning       scores rise along the lists, as ranks and distances do
    |  |- ConstantScoresWarning     most lists have one score for all their items
    |  |- ExchangedArgumentsWarning the relevance looks like recommendations
    |  |- SeenItemsWarning          users were recommended what they have in their history
    |  `- LeakageWarning            the truth is, or precedes, what the model was trained on
    |- MissingContextWarning        many shown items, or users, have no value in a table of the context
    |- DuplicateRowsWarning         a (user, item) pair occurs more than once
    |- UnorderedListsWarning        lists of recommendations are sets
    |- IdsOutOfRangeWarning         a score matrix without ids, and ids that are no row or column of it
    |- SmallerBatchesWarning        a batch did not fit the memory of a device, and was cut in halves
    `- PluginWarning                a plugin was left out

A message has three parts: what is wrong, what was found, what to do. An error that can be cured by an argument carries
the argument's name, so that Python and the command line can each spell it: `history=` here, `--train` there.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

# A part of a message that is longer is cut: an id of a megabyte is data, not a sentence.
LONGEST = 1000
# Spells an argument, and the value suggested for it, for the reader of a message.
Spelling = Callable[[str, Any], str]


def spell_keyword(argument: str, value: Any = None) -> str:
    """An argument as Python code.

    >>> spell_keyword("history"), spell_keyword("loader", "frames"), spell_keyword("columns", {"user": ...})
    ('history=', "loader='frames'", "columns={'user': ...}")
    """
    if isinstance(value, Mapping):
        pairs = (f"{key!r}: {'...' if one is ... else repr(one)}" for key, one in value.items())
        return f"{argument}={{{', '.join(pairs)}}}"
    return f"{argument}=" + ("" if value is None else repr(value))


def shorten(text: str, length: int = 80) -> str:
    """The text, cut where it is long.

    >>> shorten("a" * 9, 5)
    'aaaaa... (9 characters)'
    """
    return text if len(text) <= length else f"{text[:length]}... ({len(text):,} characters)"


def quote(value: Any) -> str:
    """The repr of any value, cut where it is long; its type where it has none.

    >>> quote("a"), quote([0] * 99)
    ("'a'", '[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0... (297 characters)')
    """
    try:
        return shorten(repr(value))
    except Exception:
        return f"an object of type {type(value).__name__}"


class BridgevalError(Exception):
    """The root of the tree.

    Args:
        wrong: what is wrong, a sentence without a full stop at the end.
        found: what was found instead, if that helps.
        hint: what to do about it. `{argument}` in it stands for the argument below, however the reader spells it;
            without a hint, an error about an argument says to give it.
        argument: the Python argument that the error is about, e.g. "history".
        value: a value to suggest for the argument; a tuple has one for each `{argument}`.

    >>> print(InputError("no user can be evaluated", "0 users in the relevance", "check the user column"))
    no user can be evaluated; found: 0 users in the relevance; hint: check the user column
    >>> print(NeedError("the catalogue is not known", argument="catalogue"))
    the catalogue is not known; hint: give catalogue=
    """

    def __init__(self, wrong: str, found: str = "", hint: str = "", *, argument: str = "", value: Any = None) -> None:
        self.wrong = shorten(wrong, LONGEST)
        self.found = shorten(found, LONGEST)
        super().__init__(self.wrong, self.found, shorten(hint, LONGEST))
        self.argument = argument
        self.value = value

    @property
    def hint(self) -> str:
        """Advice, with the argument spelled as in Python."""
        return self.spell_hint(spell_keyword)

    def spell_hint(self, spelling: Spelling) -> str:
        """Advice, with the argument spelled by `spelling`."""
        hint: str = self.args[2]
        if not self.argument:
            return hint
        hint = hint or "give {argument}"
        for value in self.value if isinstance(self.value, tuple) else (self.value,):
            hint = hint.replace("{argument}", spelling(self.argument, value), 1)
        return hint

    def __str__(self) -> str:
        parts = [self.wrong]
        if self.found:
            parts.append(f"found: {self.found}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "; ".join(parts)


class InputError(BridgevalError, ValueError):
    """The data cannot be evaluated as it is."""


class MissingColumnError(InputError, KeyError):
    """A column that is needed is not there, or cannot be told from others. A KeyError too, as data frames raise."""


class BadValueError(InputError):
    """A cell cannot be used."""


class MisalignedError(InputError):
    """The two sides do not match."""


class StateFileError(InputError):
    """A state file cannot be written, cannot be read, or cannot be merged with the others."""


class SpecError(BridgevalError, ValueError):
    """The metric asked for cannot be made."""


class UnknownMetricError(SpecError, KeyError):
    """No metric has this name. A KeyError too, so that a report is an ordinary mapping (`in`, `get`)."""


class BadParameterError(SpecError):
    """The metric exists; the parameter, or its value, does not."""


class NeedError(BridgevalError, ValueError):
    """A metric needs data that was not given."""


class LoaderError(BridgevalError, TypeError):
    """The objects cannot be read."""


class NoLoaderError(LoaderError):
    """No loader recognizes the objects."""


class AmbiguousLoaderError(LoaderError):
    """Several loaders recognize the objects."""


class MissingDependencyError(LoaderError):
    """A package has to be installed first."""


class ConfigError(BridgevalError, ValueError):
    """A config file or one of its settings is wrong."""


class MetricFailedError(BridgevalError, RuntimeError):
    """A metric written in Python raised."""


class SparkFailedError(BridgevalError, RuntimeError):
    """Spark gave a job up for a reason that lies outside the data and the metrics."""


class PluginError(BridgevalError):
    """A plugin misbehaves."""


class DuplicateNameError(PluginError):
    """Two plugins offer one name."""


class PluginFailedError(PluginError):
    """A plugin could not be imported, or raised in a hook."""


class BridgevalWarning(UserWarning):
    """Something in the data that a person should know; the numbers are valid."""


class DataWarning(BridgevalWarning):
    """A sign that data was misread, or is not fit for the evaluation; `inspect` says more."""


class NoUserInCommonWarning(DataWarning):
    """Nobody who has relevant items was shown anything."""


class NoItemInCommonWarning(DataWarning):
    """No relevant item is in any list."""


class RisingScoresWarning(DataWarning):
    """Scores rise along the lists, as ranks and distances do."""


class ConstantScoresWarning(DataWarning):
    """Most lists have one score for all their items."""


class ExchangedArgumentsWarning(DataWarning):
    """The relevance looks like recommendations, and these like relevance."""


class SeenItemsWarning(DataWarning):
    """Users were recommended what they have in their history."""


class LeakageWarning(DataWarning):
    """The truth is, or precedes, what the model was trained on."""


class MissingContextWarning(BridgevalWarning):
    """Many shown items, or users, have no value in a table of the context that a metric reads."""


class DuplicateRowsWarning(BridgevalWarning):
    """A (user, item) pair occurs more than once."""


class PluginWarning(BridgevalWarning):
    """A plugin was left out."""


class UnorderedListsWarning(BridgevalWarning):
    """Recommendations are given as sets, which have no order."""


class IdsOutOfRangeWarning(BridgevalWarning):
    """Scores come without ids, so that ids are positions, and some ids are no position."""


class SmallerBatchesWarning(BridgevalWarning):
    """A batch did not fit the memory of a device, and was cut in halves; the numbers are the same."""


def warn_caller(message: str, category: type[BridgevalWarning]) -> None:
    """Warns at the line that called into this package, however deep the data was found to be odd."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
