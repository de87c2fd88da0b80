"""Convention: a toolkit's names for native metrics with the parameters that give that toolkit's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bridgeval.errors import BadParameterError

Verified = Literal["goldens", "source", "arithmetic"]


@dataclass(frozen=True)
class Convention:
    """A table.

    Attributes:
        toolkit: the prefix: `replay` in `replay:NDCG@10`.
        metrics: the toolkit's name -> the native metric class and its parameters; or a function that makes the
            metric of the parameters given, where the toolkit's own parameters differ from the native ones.
        description: in a sentence, what it reproduces.
        version: the version of the toolkit whose numbers these are.
        verified: how far that is known: by "goldens", numbers of the toolkit itself that a test compares with; from its
            "source"; or by "arithmetic", numbers worked out from its formulas.
        caveat: where the toolkit's own number depends on accident, such as an unstable sort.
        respell: turns the toolkit's own spelling of a metric, such as `P_5`, into a name, parameters and a cutoff.
        aliases: other names of the toolkit, such as that of its package.
    """

    toolkit: str
    metrics: Mapping[str, Entry | Callable[..., Any]]
    description: str = ""
    version: str = ""
    verified: Verified = "source"
    caveat: str = ""
    respell: Callable[[str], str] | None = None
    aliases: tuple[str, ...] = ()

    def is_called(self, name: str) -> bool:
        """Whether this is a name of the toolkit, whatever its case and hyphens.

        >>> Convention("sklearn", {}, aliases=("scikit-learn",)).is_called("scikit_learn")
        True
        """
        return _plain(name) in map(_plain, (self.toolkit, *self.aliases))

    def find(self, name: str) -> tuple[str, Callable[..., Any]] | None:
        """The toolkit's own spelling and a maker of the metric; None for a name it does not have."""
        for own, maker in self.metrics.items():
            if own.lower() == name.lower():
                return own, maker
        return None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


@dataclass(frozen=True)
class Entry:
    """A native metric class with parameters filled in.

    Attributes:
        metric: the native class.
        parameters: those on which the toolkit differs from the native defaults.
        names: the toolkit's name of a parameter -> the native one, where they are not the same; None if it changes no
            number, such as the base of the logarithm in nDCG.
        words: the toolkit's name of a parameter -> its word for a value -> the native value.
    """

    metric: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str | None] = field(default_factory=dict)
    words: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)

    def __call__(self, **parameters: Any) -> Any:
        make = getattr(self.metric, "from_parameters", self.metric)
        return make(**{**self.parameters, **parameters})

    def native(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters as the toolkit calls them, by their native names and values.

        >>> line = Entry(dict, names={"relevance": "gain"}, words={"relevance": {"graded": "linear"}})
        >>> line.native({"relevance": "graded", "k": 5})
        {'gain': 'linear', 'k': 5}
        """
        translated = {}
        for name, value in given.items():
            words = self.words.get(name)
            if words is not None and value not in words:
                raise BadParameterError(
                    f"there is no {name}={value!r}", hint=f"choose one of {', '.join(map(repr, words))}"
                )
            native = self.names.get(name, name)
            if native is not None:
                translated[native] = value if words is None else words[value]
        return translated


def entry(
    metric: Callable[..., Any],
    *,
    names: Any = None,
    words: Any = None,
    **parameters: Any,
) -> Entry:
    """A line of a convention table; `names` and `words` are those of `Entry`."""
    return Entry(metric, parameters, names or {}, words or {})
