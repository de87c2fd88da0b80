"""A study's configuration: the part of `config.xml` that matters to evaluation, in the three dialects in use.

Current files name Java metrics in `metric/class` and Python metrics in `metric/script`. Early 2021 had a section
`<metric python="true">` for each Python metric, with parameters as child elements. Samples of 2018 to 2020 give the
data folder in `path/data`. XML is read without entities and external references.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast
from xml.etree.ElementTree import ParseError

import defusedxml.ElementTree as SafeXML
from defusedxml import DefusedXmlException

from bridgeval.errors import InputError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# LibRec's default.
LIST_SIZE = 10


@dataclass(frozen=True)
class Script:
    """A Python metric of a configuration.

    Attributes:
        name: the file name, `ndcg_metric.py`.
        folder: relative to the study; None for a script that librec-auto ships.
        parameters: as text.
    """

    name: str
    folder: str | None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Feature:
    """A protected feature: its id in the feature file, and whether items or users have it."""

    id: str
    side: Literal["item", "user"] = "item"


@dataclass(frozen=True)
class Config:
    """The settings of a `config.xml`.

    Attributes:
        data: the data folder, relative to the study.
        ratings: the original data files, relative to `data`; training before test if they are separate.
        item_features, user_features: feature files, relative to `data`.
        protected: the protected feature of the Java metrics.
        ranking: True for lists, False for predicted ratings.
        list_size: N of the Java metrics.
        java: names of Java metrics as written, short or as classes.
        scripts: the Python metrics.
        reranked: whether a re-ranker ran, so that lists in `result/` are not those of the algorithm.
        varied: parameters that vary between experiments, with this experiment's values.
    """

    data: str = "data"
    ratings: tuple[str, ...] = ()
    item_features: str | None = None
    user_features: str | None = None
    protected: Feature | None = None
    ranking: bool = True
    list_size: int = LIST_SIZE
    java: tuple[str, ...] = ()
    scripts: tuple[Script, ...] = ()
    reranked: bool = False
    varied: Mapping[str, str] = field(default_factory=dict)


def read_xml(path: str | os.PathLike[str]) -> Element:
    """Reads the root of an XML file; entities, external references and broken files are errors."""
    try:
        return cast("Element", SafeXML.parse(os.fspath(path)).getroot())
    except (ParseError, DefusedXmlException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{os.fspath(path)} cannot be read as XML", str(error), "is it the study's own file?"
        ) from error


def read_config(path: str | os.PathLike[str]) -> Config:
    """Reads a study's or an experiment's `config.xml`."""
    root = read_xml(path)
    features = _read_features(root)
    sections = root.findall("metric")
    java = [name for section in sections if not _is_python(section) for name in _read_classes(section)]
    scripts = [script for section in sections for script in _read_scripts(section, features)]
    return Config(
        data=_read_text(root, "data/data-dir") or _read_text(root, "path/data") or "data",
        ratings=tuple(
            name
            for tag in ("data/data-file", "data/train-file", "data/test-file")
            if (name := _read_text(root, tag)) is not None
        ),
        item_features=_read_text(root, "features/item-feature-file"),
        user_features=_read_text(root, "features/user-feature-file"),
        protected=_read_protected(sections, features),
        ranking=(_read_text(root, "metric/ranking") or "true").lower() != "false",
        list_size=_read_integer(path, root, "metric/list-size") or LIST_SIZE,
        java=tuple(java),
        scripts=tuple(scripts),
        reranked=root.find("rerank/script") is not None or root.find("rerank/script-name") is not None,
        varied=dict(_read_varied(root)),
    )


def _read_text(root: Element, path: str) -> str | None:
    found = root.find(path)
    text = (found.text or "").strip() if found is not None else ""
    return text or None


def _read_integer(path: str | os.PathLike[str], root: Element, tag: str) -> int | None:
    text = _read_text(root, tag)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{os.fspath(path)}: <{tag}> must be an integer", repr(text), "e.g. 10") from None


def _read_features(root: Element) -> dict[str, Feature]:
    """Reads the protected features, by the name that `ref=` refers to."""
    found = {}
    for element in root.findall("features/protected-feature"):
        feature = _read_feature(element)
        found[element.get("name") or feature.id] = feature
    return found


def _read_feature(element: Element) -> Feature:
    return Feature((element.text or "").strip(), "user" if element.get("type") == "user" else "item")


def _read_protected(sections: list[Element], features: Mapping[str, Feature]) -> Feature | None:
    for section in sections:
        element = section.find("protected-feature")
        if element is None:
            continue
        reference = element.get("ref")
        if reference is not None:
            return features.get(reference)
        written = _read_feature(element)
        known = [feature for feature in features.values() if feature.id == written.id]
        return known[0] if known and element.get("type") is None else written
    return None


def _is_python(section: Element) -> bool:
    return section.get("python", "").lower() == "true"


def _read_classes(section: Element) -> Iterator[str]:
    for element in section.findall("class"):
        yield from (name.strip() for name in (element.text or "").split(",") if name.strip())


def _read_scripts(section: Element, features: Mapping[str, Feature]) -> Iterator[Script]:
    for element in section.findall("script"):
        name = _read_text(element, "script-name")
        if name is not None:
            source = element.get("src", "system")
            yield Script(name, None if source == "system" else source, _read_parameters(element, features))
    if _is_python(section):
        name = _read_text(section, "script-name") or _read_text(section, "name")
        if name is not None:
            parameters = {child.tag: (child.text or "").strip() for child in section.findall("params/*")}
            yield Script(name, None, parameters)


def _read_parameters(script: Element, features: Mapping[str, Feature]) -> dict[str, str]:
    found = {}
    for element in script.findall("param"):
        reference = element.get("ref")
        if reference is not None and reference in features:
            found["protected_feature"] = features[reference].id
        elif element.get("name") is not None:
            found[element.get("name", "")] = (element.text or "").strip()
    return found


def _read_varied(root: Element) -> Iterator[tuple[str, str]]:
    for element in root.iter():
        if element.get("var") == "true":
            name = element.get("name") or element.tag
            yield name, (element.text or "").strip()
