"""Metric classes made of classes that were written for another toolkit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from functools import cached_property
from typing import Any, ClassVar

from bridgeval.engine.blocks import Blocks
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import State
from bridgeval.engine.summary import Result


@dataclass(frozen=True)
class PortedMetric(Metric):
    """The base of ported classes: their fields are the author's parameters, the rest is left to `inner`.

    Class attributes:
        author: the class.
        port: the toolkit's function that made this class of it, which makes it again where it is unpickled.
        make: a metric of the author's class and parameters by keyword.
    """

    author: ClassVar[type]
    port: ClassVar[Callable[..., Any]]
    make: ClassVar[Callable[..., Metric]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.inner  # noqa: B018  refuses bad parameters here and not when it is evaluated

    @cached_property
    def inner(self) -> Metric:
        """The metric that the toolkit makes; arguments that are as the author's constructor has them are left to it."""
        kind, defaults = type(self), self.default_parameters()
        given = {name: value for name, value in self.parameters.items() if value != defaults[name]}
        return kind.make(kind.author, **given)

    def __reduce__(self) -> tuple[Any, ...]:
        kind, values = type(self), {one.name: getattr(self, one.name) for one in fields(self)}
        return _restore, (kind.port, kind.author, kind.name, values)

    def needs(self) -> Needs:
        return self.inner.needs()

    def start(self) -> State:
        return self.inner.start()

    def update(self, blocks: Blocks) -> State:
        return self.inner.update(blocks)

    def compute(self, state: Any) -> Result:
        return self.inner.compute(state)

    def per_user(self) -> Metric | None:
        return self.inner.per_user()


def port_class(
    author: type, name: str, parameters: Mapping[str, Any], make: Callable[..., Metric], port: Callable[..., Any]
) -> type[Metric]:
    """A metric class of a class that was written for another toolkit.

    Args:
        author: the class.
        name: the name that users ask for.
        parameters: name -> default, `dataclasses.MISSING` for one that must be given; `k` may be given by position.
        make: a metric of the author's class and the parameters that differ from their defaults.
        port: the toolkit's function `(author, name)` that calls this one, and returns the same class every time.
    """
    # A missing docstring would be the parent's.
    about = vars(author).get("__doc__") or f"{author.__name__}, a class of {author.__module__}."
    return make_dataclass(
        author.__name__,
        [_make_field(one, default) for one, default in sorted(parameters.items(), key=lambda pair: pair[0] != "k")],
        bases=(PortedMetric,),
        namespace={
            "name": name,
            "author": author,
            "make": staticmethod(make),
            "port": staticmethod(port),
            "__doc__": about,
            "__module__": author.__module__,
        },
        frozen=True,
        repr=False,
    )


def _make_field(name: str, default: Any) -> tuple[str, Any, Any]:
    value = tuple(default) if isinstance(default, list) else default
    return name, Any, field(kw_only=name != "k") if value is MISSING else field(default=value, kw_only=name != "k")


def _restore(port: Callable[..., Any], author: type, name: str, values: Mapping[str, Any]) -> Metric:
    metric: Metric = port(author, name)(**values)
    return metric
