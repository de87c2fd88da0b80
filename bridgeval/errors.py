"""Every exception that bridgeval raises.

    BridgevalError
    |- InputError(ValueError)       the data cannot be evaluated as it is
    |  |- MissingColumnError        a column that is needed is not there, or cannot be told from others
    |  |- BadValueError             a cell holds what cannot be used: NaN, infinite, null, of the wrong type
    |  |- MisalignedError           the two sides do not fit: integer ids against strings, scores against ids
    |- SpecError(ValueError)        the metric asked for cannot be made
    |  |- UnknownMetricError(KeyError)  no metric has this name; carries the nearest names
    |  `- BadParameterError         the metric exists, the parameter or its value does not
    |- NeedError(ValueError)        a metric needs what was not given; says which argument gives it
    |- LoaderError(TypeError)       the objects cannot be read
    |  |- NoLoaderError             no loader recognizes them
    |  |- AmbiguousLoaderError      several do
    |  `- MissingDependencyError    a package has to be installed first
    |- ConfigError(ValueError)      a config file, or what it asks for, is wrong
    |- MetricFailedError            a metric written in Python raised; carries metric and user
    `- PluginError                  a plugin misbehaves
       |- DuplicateNameError        two plugins offer one name
       `- PluginFailedError         a plugin could not be imported or raised in a hook

A message has three parts: what is wrong, what was found, what to do.
"""

from __future__ import annotations


class BridgevalError(Exception):
    """The root of the tree.

    Args:
        wrong: what is wrong, a sentence without a full stop at the end.
        found: what was found instead, if that helps.
        hint: what to do about it.

    >>> print(InputError("no user can be evaluated", "0 users in the relevance", "check the user column"))
    no user can be evaluated; found: 0 users in the relevance; hint: check the user column
    """

    def __init__(self, wrong: str, found: str = "", hint: str = "") -> None:
        super().__init__(wrong, found, hint)
        self.wrong = wrong
        self.found = found
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.wrong]
        if self.found:
            parts.append(f"found: {self.found}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "; ".join(parts)


class InputError(BridgevalError, ValueError):
    """The data cannot be evaluated as it is."""


class MissingColumnError(InputError):
    """A column that is needed is not there, or cannot be told from others."""


class BadValueError(InputError):
    """A cell holds what cannot be used."""


class MisalignedError(InputError):
    """The two sides do not fit together."""


class SpecError(BridgevalError, ValueError):
    """The metric asked for cannot be made."""


class UnknownMetricError(SpecError, KeyError):
    """No metric has this name. A KeyError too, so that a report is an ordinary mapping (`in`, `get`)."""


class BadParameterError(SpecError):
    """The metric exists; the parameter, or its value, does not."""


class NeedError(BridgevalError, ValueError):
    """A metric needs what was not given."""


class LoaderError(BridgevalError, TypeError):
    """The objects cannot be read."""


class NoLoaderError(LoaderError):
    """No loader recognizes the objects."""


class AmbiguousLoaderError(LoaderError):
    """Several loaders recognize the objects."""


class MissingDependencyError(LoaderError):
    """A package has to be installed first."""


class ConfigError(BridgevalError, ValueError):
    """A config file, or what it asks for, is wrong."""


class MetricFailedError(BridgevalError, RuntimeError):
    """A metric written in Python raised."""


class PluginError(BridgevalError):
    """A plugin misbehaves."""


class DuplicateNameError(PluginError):
    """Two plugins offer one name."""


class PluginFailedError(PluginError):
    """A plugin could not be imported, or raised in a hook."""


class BridgevalWarning(UserWarning):
    """Something in the data that the numbers survive but a person should know."""


class NoUserInCommonWarning(BridgevalWarning):
    """Nobody who has relevant items was shown anything."""


class DuplicateRowsWarning(BridgevalWarning):
    """A (user, item) pair occurs more than once."""


class PluginWarning(BridgevalWarning):
    """A plugin was left out."""
