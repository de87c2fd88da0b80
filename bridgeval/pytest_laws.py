"""`pytest --bridgeval-plugin NAME`: the laws on everything that an installed plugin offers, one test for each law."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bridgeval.testing.law import Law
    from bridgeval.testing.plugin_laws import Case

PLUGIN, METRIC = "--bridgeval-plugin", "--bridgeval-metric"
MARK = "bridgeval_laws"
NO_DATA = "the other laws need data in its form: define pytest_bridgeval_loader in conftest.py, see docs/laws.md"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options that name plugins and metrics."""
    group = parser.getgroup("bridgeval")
    group.addoption(
        PLUGIN, action="append", default=[], metavar="NAME", help="Test the laws on all that this plugin offers."
    )
    group.addoption(
        METRIC, action="append", default=[], metavar="NAME", help="Test this metric too, e.g. 'Alpha(x=2)@5'."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.addinivalue_line("markers", f"{MARK}: a law of bridgeval, tested with {PLUGIN}")


class LoaderData:
    """The hook by which authors give data in the form of their loaders."""

    @pytest.hookspec(firstresult=True)
    def pytest_bridgeval_loader(self, loader: str, folder: Path) -> Mapping[str, Any] | None:
        """The arguments of `check_loader` after the loader, for the loader of this name.

        Args:
            loader: its name.
            folder: an empty folder to write files to.
        """


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Adds the hook."""
    pluginmanager.add_hookspecs(LoaderData)


class PluginUnderTest(pytest.Collector):
    """A plugin, whose tests are the laws of everything that it offers."""

    def collect(self) -> list[pytest.Item]:
        """One test for each law of each thing."""
        from bridgeval.testing.plugin_laws import list_cases

        try:
            cases = list_cases(self.name, self.config.getoption(METRIC), self._find_data)
        except AssertionError as error:
            raise pytest.UsageError(str(error)) from None
        items: list[pytest.Item] = []
        for case in cases:
            items += [LawTest.from_parent(self, case=case, law=law) for law in case.laws]
            if case.lacks_data:
                items.append(LawTest.from_parent(self, case=case, law=None))
        return items

    def _find_data(self, loader: str) -> Mapping[str, Any] | None:
        folder = tempfile.TemporaryDirectory(prefix="bridgeval-laws-")
        self.config.add_cleanup(folder.cleanup)
        return self.ihook.pytest_bridgeval_loader(loader=loader, folder=Path(folder.name))


class LawTest(pytest.Item):
    """The test of one law on one thing; without a law it is skipped, and says which data is missing."""

    def __init__(self, *, case: Case, law: Law | None, **node: Any) -> None:
        super().__init__(f"{case.who}: {law.name if law else 'it keeps the laws about its data'}", **node)
        self.case = case
        self.law = law
        self.add_marker(MARK)

    def runtest(self) -> None:
        """Raises AssertionError if the law is broken."""
        if self.law is None:
            pytest.skip(NO_DATA)
        self.law.test(self.case.who, self.case.trial)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message of a broken law, which says where to look; the traceback shows the tests alone."""
        return str(excinfo.value) if excinfo.errisinstance(AssertionError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The heading of a failure."""
        return self.path, None, f"{self.parent.name if self.parent else ''} {self.name}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Adds the laws to the tests that were collected, before -k and -m select."""
    for name in dict.fromkeys(config.getoption(PLUGIN)):
        items += PluginUnderTest.from_parent(session, name=name, nodeid=f"bridgeval-plugin {name}").collect()
