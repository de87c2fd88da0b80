"""merge: the report of many evaluations, out of the state files that each of them wrote."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, cast, get_args

import numpy as np

from bridgeval import spec
from bridgeval.arguments import checked
from bridgeval.engine.census import Counts
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import NEEDS, in_words
from bridgeval.engine.plan import Plan, States, merge_all
from bridgeval.engine.roster import Attendance
from bridgeval.engine.state import Sums
from bridgeval.engine.state_codec import fits
from bridgeval.engine.state_files import StateFile, check_place, refuse_damaged
from bridgeval.errors import BadParameterError, BridgevalError, SpecError, StateFileError
from bridgeval.evaluation import add_slices, make_plan
from bridgeval.report import Report, build_report
from bridgeval.saved_states import SLICES, Terms, add_roster, define, save_states
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.slice_labels import Labels

# Term -> its name in messages, its type. Nothing but the data may differ between files that are merged.
TERMS: Mapping[str, tuple[str, Any]] = {
    "metrics": ("metrics", dict[str, str]),
    "per_user": ("per_user=", bool),
    "slices": ("slices", dict[str, str]),
    "mask_seen": ("mask_seen=", bool | None),
    "columns": ("columns=", dict[str, str | None]),
    "label": ("labels of the numbers", str),
}
# Entry of an evaluation among the parts of a file -> its type.
PART = {"id": str, "loader": str, "users": int}
# Counts that not every source makes.
OPTIONAL = ("unknown_shown", "unknown_relevant", "shown_in_history", "relevant_in_history")
Rule = Literal["distinct", "events"]


@checked
def merge(
    states: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    users: Rule = "distinct",
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    state: str | os.PathLike[str] | None = None,
) -> Report:
    """The report of several evaluations together, from the state files that they wrote.

    Shards of users, however they are cut, and wherever each was evaluated, give the report of one evaluation of them
    all, to 1e-12. Files with other metrics, slices, columns or context (catalogue, popularity, groups, as far as a
    metric reads them), and files that are damaged or hold the same evaluation, are an error.

    Args:
        states: paths of files that `evaluate(..., state=...)` or `merge(..., state=...)` wrote, in any order.
        users: the rule for users who are in several files: "distinct" refuses them; "events" counts a user once for
            each file, as for days, on each of which a user is evaluated anew.
        metrics: the metric objects of the evaluations, if names are not enough to make them: a metric of your own that
            is not installed.
        state: a file for the merged states, which can be merged again. After "events" it holds no user ids.

    Returns:
        A Report; its manifest lists the evaluations, with their users and versions.

    >>> import tempfile
    >>> from bridgeval import evaluate
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, two = f"{folder}/1.state", f"{folder}/2.state"
    ...     shard = evaluate({"ann": ["tea"]}, {"ann": ["tea"]}, "Recall@2", state=one)
    ...     shard = evaluate({"bob": ["gin"]}, {"bob": ["gin", "rum"]}, "Recall@2", state=two)
    ...     report = merge([one, two])
    >>> report["Recall@2"], report.population.counted
    (0.75, 2)
    """
    files = [StateFile.read(path) for path in _list_paths(states, users)]
    if state is not None:
        check_place(state)
    return merge_files(files, users, metrics, state)


def merge_files(files: Sequence[StateFile], users: Rule, metrics: Any = None, state: Any = None) -> Report:
    """Merges files that have been read; the arguments are those of `merge`."""
    for other in files[1:]:
        _refuse_other_terms(files[0], other)
    parts = _join_parts(files)
    terms = _read_terms(files[0], metrics)
    plan = make_plan(list(terms.metrics.values()), terms.per_user, terms.labels, terms.mask_seen is not False)
    plan = add_roster(plan, with_users=True)
    found = [_read_states(file, plan) for file in files]
    rosters = {file.name: cast(Attendance, one[-1]) for file, one in zip(files, found, strict=True)}
    _refuse_other_context(rosters)
    if len(files) > 1 and (users == "distinct" or terms.labels):
        _refuse_overlap(rosters, "slices" if terms.labels and users == "events" else "")
    loaders = ", ".join(dict.fromkeys(part["loader"] for part in parts))
    with _blame_files():
        merged = _drop_partial_counts(merge_all(plan, found), found)
        report = build_report(terms.metrics, plan.compute(merged), loaders, terms.label, is_part=state is not None)
        report = add_slices(report, terms.labels, plan, merged) if terms.labels else report
    if users == "events":
        merged = (*merged[:-1], replace(cast(Attendance, merged[-1]), users=()))
    if state is not None:
        save_states(state, terms, plan, merged, report, parts)
    return replace(report, manifest={"merged": parts})


def _drop_partial_counts(merged: States, found: Sequence[States]) -> States:
    """Leaves out of the census what not every file counted: in Spark some counts would take another shuffle."""
    census = [cast(Counts, states[0]).sums.values for states in found]
    partial = {name for name in OPTIONAL if any(one.get("users") and name not in one for one in census)}
    counts = cast(Counts, merged[0])
    kept = {name: count for name, count in counts.sums.values.items() if name not in partial}
    return (replace(counts, sums=Sums(kept)), *merged[1:])


def _list_paths(states: Any, users: str) -> list[str]:
    """The paths; raises if there is none, or if the rule for users does not exist."""
    if users not in get_args(Rule):
        raise BadParameterError(
            f"merge has no users={users!r}", hint=f"choose one of {', '.join(map(repr, get_args(Rule)))}"
        )
    paths = [os.fspath(path) for path in ([states] if isinstance(states, str | os.PathLike) else states)]
    if not paths:
        raise StateFileError("there is nothing to merge", "no path", "give the paths of state files")
    return paths


def _refuse_other_terms(first: StateFile, other: StateFile) -> None:
    one, two = (_read_header_terms(file) for file in (first, other))
    for term, (words, _) in TERMS.items():
        if one[term] != two[term]:
            raise StateFileError(
                f"{first.name!r} and {other.name!r} were evaluated with different {words}",
                _tell_difference(one[term], two[term]),
                "evaluate both in the same way",
            )


def _read_header_terms(file: StateFile) -> dict[str, Any]:
    terms: dict[str, Any] = file.get("terms", dict[str, Any])
    if terms.keys() != TERMS.keys() or not all(fits(terms[term], hint) for term, (_, hint) in TERMS.items()):
        raise refuse_damaged(file.name, f"{terms!r:.80} as its terms")
    return terms


def _tell_difference(one: Any, two: Any) -> str:
    """The entries that only one of two values has, or the values.

    >>> _tell_difference({"MAP@5": "MAP(k=5)", "RMSE": "RMSE()"}, {"RMSE": "RMSE()"})
    "{'MAP@5': 'MAP(k=5)'} against {}"
    """
    if isinstance(one, dict) and isinstance(two, dict):
        one, two = ({k: v for k, v in a.items() if k not in b or b[k] != v} for a, b in ((one, two), (two, one)))
    return f"{one!r} against {two!r}"


def _join_parts(files: Sequence[StateFile]) -> list[dict[str, Any]]:
    """The evaluations behind the files; raises if one is in two files, or twice in the list."""
    homes: dict[str, str] = {}
    parts = []
    for file in files:
        for part in file.get("parts", list[dict[str, Any]]):
            if not all(fits(part.get(entry), hint) for entry, hint in PART.items()):
                raise refuse_damaged(file.name, f"{part!r:.80} as one of its evaluations")
            if part["id"] in homes:
                raise StateFileError(
                    f"an evaluation of {part['users']:,} users would be counted twice",
                    f"it is in {homes[part['id']]!r} and in {file.name!r}",
                    "leave out one of them; the other one holds it already",
                )
            homes[part["id"]] = file.name
            parts.append(part)
    return parts


def _read_terms(file: StateFile, metrics: Any) -> Terms:
    given = {} if metrics is None else spec.name_all(metrics)
    terms = _read_header_terms(file)
    named = {name: _find_metric(file, name, meaning, given) for name, meaning in terms["metrics"].items()}
    labels = file.decode(file.header.get("slices"), SLICES, "the slices")
    if not fits(labels, tuple[Labels, ...]):
        raise refuse_damaged(file.name, f"{labels!r:.80} as its slices")
    found = Terms(named, terms["per_user"], labels, terms["mask_seen"], terms["columns"], terms["label"])
    if found.describe() != terms:
        raise refuse_damaged(file.name, "slices that are not those of its terms")
    return found


def _find_metric(file: StateFile, name: str, meaning: str, given: Mapping[str, Metric]) -> Metric:
    """The metric of a name in a file, which must mean here what it meant there."""
    try:
        metric = given[name] if name in given else spec.parse(name)[0]
    except SpecError as error:
        raise StateFileError(
            f"the metric {name!r} of {file.name!r} cannot be made from its name",
            error.wrong,
            "install the package that has it, or give the metric object as {argument}",
            argument="metrics",
        ) from error
    if define(metric) != meaning:
        raise StateFileError(
            f"{name!r} means something else here than in {file.name!r}",
            f"{define(metric)} here, {meaning} there",
            "merge with the version of bridgeval, or of the plugin, that wrote the file",
        )
    return metric


def _read_states(file: StateFile, plan: Plan) -> States:
    """The states of a file, whose counts must be those in its header."""
    states = file.read_states(plan)
    notes, roster = plan.metrics[0].compute(states[0]).notes, cast(Attendance, states[-1])
    counts = {name: notes.get(name, 0) for name in ("users", "counted")}
    ids = sum(map(len, roster.users))
    if (
        file.get("counts", dict[str, int]) != counts
        or not fits(notes, dict[str, float])
        or ids not in (0, roster.count)
    ):
        raise refuse_damaged(file.name, f"states of {counts} where there should be {file.header['counts']}")
    return states


def _refuse_other_context(rosters: Mapping[str, Attendance]) -> None:
    # One without users has read nothing.
    filled = {name: roster for name, roster in rosters.items() if roster.count}
    first, context = next(((name, roster.context) for name, roster in filled.items()), ("", {}))
    for other, roster in filled.items():
        for need in sorted({*context, *roster.context}):
            if roster.context.get(need) != context.get(need):
                raise StateFileError(
                    f"{first!r} and {other!r} were evaluated with different data: {in_words(need)}",
                    "a metric reads it, so that the merged number would mix both",
                    "give every evaluation the whole of it, e.g. the same {argument}, or leave out such metrics",
                    argument=NEEDS[need].argument if need in NEEDS else "",
                )


def _refuse_overlap(rosters: Mapping[str, Attendance], reason: str) -> None:
    """Raises if a user is in several files, or if that is not known.

    Args:
        reason: what needs distinct users, if the caller's rule does not.
    """
    unknown = next((name for name, roster in rosters.items() if not roster.known), None)
    if unknown is not None:
        raise StateFileError(
            f"the users of {unknown!r} are not known, so they may be in other files too",
            f"{rosters[unknown].count:,} users without their ids: evaluated in Spark, or merged as events",
            "evaluate with per_user=True, or, if you know that nobody comes twice, merge with {argument}",
            argument="users",
            value="events",
        )
    owners = [name for name, roster in rosters.items() for _ in roster.users]
    columns = [ids for roster in rosters.values() for ids in roster.users]
    if not columns:
        return
    vocabulary, codes = encode_ids(columns, "user ids")
    times = np.bincount(np.concatenate(codes), minlength=len(vocabulary))
    if times.max(initial=0) < 2:
        return
    again = np.flatnonzero(times > 1)
    shown = [
        f"{vocabulary.slice(user, user + 1).tolist()[0]!r} in "
        + " and ".join(repr(name) for name, own in zip(owners, codes, strict=True) if user in own)
        for user in again[:3].tolist()
    ]
    raise StateFileError(
        f"{len(again):,} user{'s are' if len(again) > 1 else ' is'} in several files"
        + (f", and {reason} need each user once" if reason else ""),
        ", ".join(shown),
        "give each evaluation the lists and the relevance of its own users alone"
        + ("" if reason else "; or, if these are days, count each time: {argument}"),
        argument="" if reason else "users",
        value="events",
    )


@contextmanager
def _blame_files() -> Iterator[None]:
    """Whatever a metric makes of states that do not fit each other, the files are to blame."""
    try:
        yield
    except (BridgevalError, Warning):
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
        raise StateFileError("the states do not fit each other", found, "write the files again") from error
