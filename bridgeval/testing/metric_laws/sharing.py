"""Laws about what a metric reads, and what it shares with the metrics beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from bridgeval.choices import list_choices
from bridgeval.engine.metric import Metric, UserMetric
from bridgeval.engine.needs import Needs, in_words
from bridgeval.engine.plan import Plan
from bridgeval.engine.state import State
from bridgeval.engine.summary import Result
from bridgeval.tables.context import Context
from bridgeval.testing.law import Law, describe_error, law, refuse, require
from bridgeval.testing.metric_laws.declarations import require_fields
from bridgeval.testing.operations import NotedOperations
from bridgeval.testing.results import difference
from bridgeval.testing.trial import Trial, copy_arrays, name_metric, was_written


@law(
    "it reads only what it declares",
    cause="it reads data that needs() does not declare",
    remedy="add the data to needs()",
)
def it_reads_what_it_declares(trial: Trial) -> None:
    """It answers alike where there is nothing but the lists and what `needs()` declares."""
    context, needs = trial.context, trial.metric.needs()
    declared = needs.context | needs.named_tables | needs.optional | needs.users
    known = Context(
        context.catalogue if "catalogue" in declared else None,
        {name: table for name, table in context.items.items() if f"item {name}" in declared},
        {name: table for name, table in context.users.items() if f"user {name}" in declared},
        context.history_users,
        context.history_pairs,
        context.given_users if "all users" in declared else 0,
    )
    when = f"with nothing but {', '.join(sorted(declared)) or 'the lists'}"
    _expect_or_blame(trial, lambda: trial.result(context=known), when)


@law(
    "it reads all that it declares",
    cause="needs() declares what nothing reads, so that evaluate refuses to do without it",
    remedy="take it out of needs()",
)
def it_reads_all_it_declares(trial: Trial) -> None:
    """Without a table, a column or a list that `needs()` declares it raises, or answers otherwise."""
    needs = trial.metric.needs()
    for need in sorted(needs.pairs - {"score"} | needs.context | needs.lists | needs.named_tables):
        slates, context = trial.without(need)
        try:
            found = trial.result([slates], context=context)
        except Exception:
            continue
        require(bool(difference(trial.expected, found)), f"without {in_words(need)} it answers alike")


def _expect_or_blame(trial: Trial, run: Callable[[], Result], when: str) -> None:
    try:
        found = run()
    except Exception as error:
        refuse(f"{when} {describe_error(error)}")
    trial.expect(found, when)


@law(
    "it reads scores only if it declares them",
    cause="it reads scores that needs() does not declare",
    remedy='add Needs(pairs=frozenset({"score"})) to needs()',
)
def it_reads_scores_if_declared(trial: Trial) -> None:
    """A metric that does not declare scores answers for lists that come ranked without any."""
    if not trial.reads_no_scores:
        return
    try:
        trial.on(trial.world.ranked).expected  # noqa: B018
    except Exception as error:
        refuse(f"of lists without scores {describe_error(error)}")


@law(
    "deeper lists change nothing",
    cause="it reads all D places that a block has, not the first k, or needs() declares fewer places than it reads",
    remedy="cut with [:, : self.k], or declare depth=None in needs()",
)
def depth_changes_nothing(trial: Trial) -> None:
    """Deeper lists than it needs, because another metric needs them, change nothing."""
    trial.expect(trial.result(plan=Plan((_Deep(), trial.metric))), "beside a metric of whole lists")


@dataclass(frozen=True)
class _Deep(Metric):
    """Needs whole lists and has no result."""

    def needs(self) -> Needs:
        return Needs(depth=None)

    def start(self) -> State:
        return _Nothing()

    def update(self, blocks: Any) -> State:
        return _Nothing()


class _Nothing:
    def merge(self, other: _Nothing) -> _Nothing:
        return self


@law(
    "shared blocks are not written to",
    cause="an operation in place (x += 1, x[mask] = 0, sort_, masked_fill_) on a tensor that other metrics read",
    remedy="work on a new tensor: x + 1, torch.where(mask, 0, x), x.clone()",
)
def shared_blocks_are_not_written(trial: Trial) -> None:
    """Blocks, batches and the context, which all metrics share, are as they were."""
    blocks = trial.lay_out()
    batch, shown = blocks.batch, blocks.batch.shown
    columns = [shown.column(name) for name in ("score",) if shown.has(name)]
    laid_out = [shown.items, shown.valid, *columns, batch.relevant.items, batch.relevant.column("gain")]
    copies = copy_arrays([laid_out, trial.slates, trial.context])
    trial.plan.update(blocks)
    require(not was_written(copies), "the batch or the context was written to")
    for block, made in blocks.copies.items():
        require(not was_written(made), f"the block {block!r} was written to")
        require_fields(block, "the block")
    # Once more, with all blocks made: an operation in place may change nothing in these data.
    with NotedOperations() as noted:
        metric = trial.metric
        metric.values(blocks) if trial.has_values else metric.update(blocks)  # type: ignore[attr-defined]
    shared = [one for copies in (copies, *blocks.copies.values()) for one, _ in copies if isinstance(one, Tensor)]
    written = noted.written_to(shared)
    require(not written, f"a shared tensor was written to by {', '.join(dict.fromkeys(written))}")


@law(
    "it does not mind its kin",
    cause="a block or a key of lookup.once(...) that does not tell two parameters apart",
    remedy="make each parameter that a tensor depends on a field of its block, or a part of the key",
)
def its_kin_change_nothing(trial: Trial) -> None:
    """The same metric with other parameters, evaluated first in the same pass, changes nothing."""
    kin = list(_vary(trial.metric))
    needs = Plan((trial.metric, *kin)).needs
    (slates,) = trial.world.inputs.slates(needs)
    for other in kin:
        # New blocks for each: what the first of them leaves behind would hide what the others do.
        blocks = trial.lay_out(slates, needs=needs)
        try:
            Plan((other,)).update(blocks)
        except Exception:
            # Parameters that it does not take are no fault: they were made up.
            continue
        trial.expect(trial.metric.compute(trial.plan.update(blocks)[0]), f"beside {name_metric(other)}")


def _vary(metric: Metric) -> Iterator[Metric]:
    """The same metric with one parameter changed."""
    for name, value in metric.parameters.items():
        for other in _vary_value(name, value, type(metric)):
            try:
                changed = metric.with_parameters(**{name: other})
                changed.needs()
            except Exception:
                continue
            yield changed


def _vary_value(name: str, value: Any, kind: type[Metric]) -> list[Any]:
    if name == "k":
        return [1, value + 3] if value < 1000 else [2]
    if name in ("ties", "users", "above"):
        return [{"ties": "item_ascending", "users": "shown", "above": 1.0}[name]]
    if name in INHERITED:
        return []
    choices = [one for one in list_choices(kind).get(name, ()) if one != value]  # type: ignore[arg-type]
    if choices:
        return choices[:1]
    if isinstance(value, bool):
        return [not value]
    return [value + 1] if isinstance(value, int) else [value * 0.5] if isinstance(value, float) else []


INHERITED = set(UserMetric.default_parameters()) | {"empty"}


SHARING: tuple[Law, ...] = (
    it_reads_what_it_declares,
    it_reads_all_it_declares,
    it_reads_scores_if_declared,
    shared_blocks_are_not_written,
    depth_changes_nothing,
    its_kin_change_nothing,
)
