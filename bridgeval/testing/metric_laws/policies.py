"""Laws about the order of rows, scores, policies, populations and devices."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bridgeval.batch import kernels
from bridgeval.choices import list_choices
from bridgeval.errors import BridgevalError
from bridgeval.testing.law import Law, describe_error, law, refuse, require
from bridgeval.testing.pretended_device import pretend_device
from bridgeval.testing.results import difference
from bridgeval.testing.trial import Trial, take_users

# Ties that do not depend on the order in which rows came.
TIES_BY_ITEM = ("item_descending", "item_ascending", "text_descending", "text_ascending")


@law(
    "the order of rows changes nothing",
    cause="it reads batch.shown or batch.relevant, which are in the order of the rows",
    remedy="read Ranked(self.ranking), which is ranked, and of the truth no place but all rows",
)
def row_order_changes_nothing(trial: Trial) -> None:
    """Rows that come in another order are ranked alike, unless the ranking is the order in which they came."""
    ranking = getattr(trial.metric, "ranking", None)
    if ranking is None or ranking.order == "given" or ranking.ties not in TIES_BY_ITEM:
        return
    trial.expect(trial.on(trial.world.reversed).expected, "rows in reverse order")
    trial.expect(trial.on(trial.world.reversed_truth).expected, "rows of the truth in reverse order")


@law(
    "rows that are dropped change nothing",
    cause="it reads batch.shown, which has every row, or a ranking that is not its own",
    remedy="read Ranked(self.ranking), which has each item once and none that is masked",
)
def dropped_rows_change_nothing(trial: Trial) -> None:
    """Of a repeated row the best counts, and a masked one does not: without these rows the result is the same."""
    ranking = getattr(trial.metric, "ranking", None)
    if ranking is None or (ranking.duplicates, ranking.masked, ranking.cut) != ("best", "drop", None):
        return
    if ranking.order == "score" and ranking.ties in TIES_BY_ITEM:
        trial.expect(trial.on(trial.world.distinct).expected, "without repeated and masked rows")


@law(
    "ties are broken by its ranking",
    cause="a block or a sort with a ranking that is not its own",
    remedy="pass self.ranking to the blocks: Ranked(self.ranking), Hits(self.ranking, self.relevance)",
)
def ties_are_broken_by_its_ranking(trial: Trial) -> None:
    """With ties="item_descending" equal scores do not come as item_ascending has them."""
    ranking = getattr(trial.metric, "ranking", None)
    if ranking is None or ranking.ties != "item_descending" or not trial.reads_no_scores:
        return
    if (ranking.order, ranking.duplicates, ranking.masked, ranking.cut) != ("score", "best", "drop", None):
        return
    differs = difference(trial.expected, trial.on(trial.world.untied).expected)
    # What counts ties half, such as AUC, gives neither of the two.
    if differs and not difference(trial.expected, trial.on(trial.world.untied_ascending).expected):
        refuse(f"its ties are those of item_ascending; without ties {differs}")


@law(
    "it reads the first k places",
    cause="a cutoff that is off by one, or lists that are not read at all",
    remedy="cut with [:, : self.k]: place 1 is the column 0, and place k the last",
)
def it_reads_to_its_cutoff(trial: Trial) -> None:
    """Places after k change nothing, unless it declares whole lists; place k, or place 1 at the cutoff 1, does."""
    metric, world = trial.metric, trial.world
    k, ranking = metric.parameters.get("k"), getattr(metric, "ranking", None)
    if not isinstance(k, int) or ranking is None or ranking.cut is not None or metric.made_of:
        return
    if (metric.needs().depth or 0) > k and ranking.ties == "item_descending":
        differs = difference(trial.on(world.sorted).expected, trial.on(world.cut(k)).expected)
        require(not differs, f"of lists cut at {k}: {differs}")
    require(
        any(_reads_place(trial.on(one), place) for one in (world, world.found) for place in (1, k)),
        f"lists cut at {k - 1} give what lists cut at {k} give, and at the cutoff 1 empty lists what lists of one give",
    )


def _reads_place(trial: Trial, k: int) -> bool:
    """Whether a place matters to the metric at this cutoff; True if it refuses the cutoff or such lists."""
    try:
        single = trial.of(k=k)
        single = single.of(over="per_user") if "over" in single.metric.parameters else single
        whole, shorter = (single.on(trial.world.cut(length)).expected for length in (k, k - 1))
    except BridgevalError:
        return True
    return bool(difference(whole, shorter))


@law(
    "scores are read for their order",
    cause="scores that become float32, are compared with 0, or are used as numbers",
    remedy='keep them in float64, or declare them: Needs(pairs=frozenset({"score"}))',
)
def awkward_scores_change_nothing(trial: Trial) -> None:
    """A metric that does not declare scores reads their order alone, in float64: negative, tiny, huge, neighbors."""
    if trial.reads_no_scores:
        trial.expect(trial.on(trial.world.awkward).expected, "other scores in the same order")


@law(
    "policies are honored",
    cause="a block without the metric's ranking or relevance",
    remedy="pass self.ranking and self.relevance to the blocks",
)
def policies_are_honored(trial: Trial) -> None:
    """`ranking` and `relevance` are what it ranks and selects by: order="given" takes rows as they came."""
    metric = trial.metric
    # What is made of metrics has their policies, under other users than the relevant ones every row of truth may count.
    if metric.made_of or metric.parameters.get("users") != "relevant":
        return
    if trial.reads_no_scores and metric.parameters.get("order") == "score":
        scored = trial.on(trial.world.plain).of(order="given").expected
        differs = difference(trial.on(trial.world.ranked).expected, scored)
        require(
            not differs,
            f'with order="given": {differs}',
            "it asks for a block without its own ranking",
            "pass self.ranking to the blocks: Hits(self.ranking, self.relevance)",
        )
    if metric.parameters.get("above") == 0:
        dropped = trial.on(trial.world.without_low_gains).expected
        differs = difference(dropped, trial.of(above=1.0).expected)
        require(
            not differs,
            f"with above=1: {differs}",
            "it asks for a block without its own relevance",
            "pass self.relevance to the blocks: Hits(self.ranking, self.relevance)",
        )


@law(
    "populations are honored",
    cause="users who do not count are added up",
    remedy="select by self.counted(blocks)",
)
def populations_are_honored(trial: Trial) -> None:
    """Users who do not count change nothing: under users="given" the lists of others may as well not be there."""
    if "users" not in trial.metric.parameters or "users" not in trial.world.extras:
        return
    if "given" not in list_choices(type(trial.metric)).get("users", ()):  # type: ignore[arg-type]
        return
    given = trial.of(users="given")
    members = set(trial.world.extras["users"])
    rows = [at for at, user in enumerate(given.slates.users.tolist()) if user in members]
    alone = given.result([take_users(given.slates, rows)])
    # Notes count what was left out, also of users who do not count.
    differs = difference(replace(given.expected, notes={}), replace(alone, notes={}))
    require(not differs, f"of the given users' data alone: {differs}")


@law(
    "devices change nothing",
    cause="tensors made without device=blocks.device, or .numpy() without .cpu()",
    remedy="pass device=blocks.device to every tensor that is made",
)
def devices_change_nothing(trial: Trial) -> None:
    """On a GPU, or on a pretended one if there is none, the result is the same."""
    if torch.cuda.is_available():
        trial.expect(trial.result(device=torch.device("cuda")), "on the GPU")
        return
    with kernels.use("portable"), pretend_device() as device:
        blocks = trial.lay_out(device=device)
        try:
            (state,) = trial.plan.update(blocks)
            result = trial.metric.compute(trial.metric.start().merge(state))
        except Exception as error:
            refuse(f"on a pretended GPU {describe_error(error)}")
        for block, copies in blocks.copies.items():
            elsewhere = [one for one, _ in copies if isinstance(one, Tensor) and one.device != device]
            # Metrics that are made of this one would mix devices.
            require(not elsewhere, f"on a pretended GPU the block {block!r} is made on the CPU")
    trial.expect(result, "on a pretended GPU")


POLICIES: tuple[Law, ...] = (
    row_order_changes_nothing,
    dropped_rows_change_nothing,
    ties_are_broken_by_its_ranking,
    it_reads_to_its_cutoff,
    awkward_scores_change_nothing,
    policies_are_honored,
    populations_are_honored,
    devices_change_nothing,
)
