"""Checks of `inspect`: each takes a Look and yields findings. They are offered by the hook that plugins use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from bridgeval.engine.census import LARGE_SHARE, ORDERS, describe_reading, find_alarms
from bridgeval.hookspecs import Check, hookimpl
from bridgeval.inspection import id_mismatch as ids, variations
from bridgeval.inspection.findings import Finding, Level
from bridgeval.inspection.look import Look

# A relative change of the headline metric above which a finding is an alarm.
LARGE_CHANGE = 0.01


@hookimpl
def bridgeval_checks() -> Iterable[Check]:
    return (
        check_alarms,
        check_reading,
        check_users,
        check_short_lists,
        check_repeated_rows,
        check_unknown_items,
        check_gains,
        check_masked_rows,
        check_history,
        check_ties,
    )


def check_alarms(look: Look) -> Iterator[Finding]:
    """The warnings of `evaluate`, with more about the cause or effect of each."""
    more: dict[str, Callable[[], str]] = {"users in common": lambda: ids.compare_users(look.chunks)}
    if look.has_lists:
        more |= {"items in common": lambda: ids.compare_items(look.chunks), "seen items": lambda: _describe_seen(look)}
    for alarm in find_alarms(look.counts):
        told = more.get(alarm.key, str)()
        yield Finding(alarm.key, "alarm", alarm.what, "; ".join(filter(None, [told, alarm.effect])), alarm.count)


def _describe_seen(look: Look) -> str:
    without = look.evaluate_changed(variations.drop_seen)
    return "" if without is None else f"without them {look.headline} would be {without:.4f}"


def check_reading(look: Look) -> Iterator[Finding]:
    """The order of the lists, and the gains that were read."""
    lists = {order: count for order in ORDERS if (count := look.count(f"by {order}"))}
    gains = look.counts.get("lowest_gain"), look.counts.get("highest_gain")
    if told := describe_reading(lists, *gains, [look.headline]):
        yield Finding("reading", "note", told)


def check_users(look: Look) -> Iterator[Finding]:
    """Users that only one side names."""
    both, truth, shown = (look.users[name] for name in ("in both", "with relevance", "recommended to"))
    if not both:
        return
    if lost := truth - both:
        yield Finding(
            "users without lists",
            _choose_level(lost, truth),
            f"{lost:,} of {truth:,} users with relevant items have no recommendations",
            f"they score 0; {look.describe_change('over the users of both sides', users='both')}",
            lost,
        )
    if unused := shown - both:
        what = f"{unused:,} of {shown:,} users with recommendations have no relevant items"
        yield Finding("users without relevance", "note", what, "they are not counted", unused)
    if both == truth == shown:
        yield Finding("users", "fine", f"all {both:,} users have recommendations and relevant items")


def check_short_lists(look: Look) -> Iterator[Finding]:
    """Lists with fewer items than the cutoff."""
    if not look.k:
        return
    counted = look.count("counted")
    short = look.count("short_lists") - look.count("shown_nothing")
    if not short:
        yield Finding("short lists", "fine", f"every list has at least {look.k} items")
        return
    what = f"{short:,} of {counted:,} lists are shorter than {look.k}"
    yield Finding("short lists", _choose_level(short, counted), what, "missing places count as misses", short)


def check_repeated_rows(look: Look) -> Iterator[Finding]:
    """Rows whose (user, item) came before."""
    shown, relevant = look.count("repeated_shown"), look.count("repeated_relevant")
    if shown:
        what = f"{shown:,} recommendations repeat a (user, item) pair"
        effect = f"the best rank counts; {look.describe_change('if each time counted', duplicates='all')}"
        yield Finding("repeated recommendations", "alarm", what, effect, shown)
    if relevant:
        what = f"{relevant:,} rows of the relevance repeat a (user, item) pair"
        change = look.describe_change("if each time counted", truth_duplicates="all")
        effect = f"the highest gain counts, once; {change}"
        yield Finding("repeated relevance", "note", what, effect, relevant)
    if not shown and not relevant:
        yield Finding("repeated rows", "fine", "no (user, item) pair is repeated")


def check_ties(look: Look) -> Iterator[Finding]:
    """Equal scores whose order changes the value; only lists have them."""
    # Only a metric that ranks by score has ties to break.
    if not look.has_lists or not look.k or look.headline.parameters.get("order") != "score" or not look.is_scored:
        return
    tied = look.count_lists(lambda slates: variations.find_ties(slates.shown, look.k))
    low, high = (look.evaluate_changed(change) for change in (variations.worst_first, variations.best_first))
    what = f"{tied:,} of {look.count('counted'):,} lists have a tie at the cutoff ({look.k})"
    if low is None or high is None or look.value is None or high - low <= 1e-12:
        yield Finding("ties", "fine", "the order of ties does not change the value", count=tied)
        return
    level: Level = "alarm" if high - low > LARGE_CHANGE * max(look.value, low) else "note"
    effect = f"{look.headline} lies between {low:.4f} and {high:.4f}, depending on how equal scores are ordered"
    yield Finding("ties", level, what if tied else "there are ties above the cutoff", effect, tied)


def check_unknown_items(look: Look) -> Iterator[Finding]:
    """Items that the catalogue does not have."""
    if look.context.catalogue is None:
        return
    shown = look.count("unknown_shown")
    relevant, rows = look.count("unknown_relevant"), look.count("relevant_rows")
    if shown:
        what = f"{shown:,} shown items are not in the catalogue or history"
        effect = "each takes a rank; metrics over the catalogue exclude them"
        yield Finding("unknown items shown", "alarm", what, effect, shown)
    if relevant:
        what = f"{relevant:,} of {rows:,} relevant rows have an item that is not in the catalogue or history"
        effect = "a system trained on that history cannot recommend it; recall cannot reach 1"
        yield Finding("unknown items relevant", _choose_level(relevant, rows), what, effect, relevant)
    if not shown and not relevant:
        yield Finding("unknown items", "fine", "the catalogue has every item")


def check_history(look: Look) -> Iterator[Finding]:
    """Shown and relevant items of the user's own history, as far as `evaluate` does not warn of them."""
    if not look.has_history:
        return
    if look.has_lists and not look.count("shown_in_history"):
        yield Finding("seen items", "fine", "no recommended item is in the user's history")
    leaked, rows = look.count("relevant_in_history"), look.count("relevant_rows")
    if not leaked:
        yield Finding("leakage", "fine", "no relevant row is in the user's history")
    elif leaked <= LARGE_SHARE * rows:
        what = f"{leaked:,} of {rows:,} relevant rows are in the user's own history"
        yield Finding("leakage", "note", what, "they were part of the training", leaked)


def check_gains(look: Look) -> Iterator[Finding]:
    """Rows of the relevance that are not relevant."""
    above = look.headline.parameters.get("above")
    if above is None:
        return
    below = look.count_lists(lambda slates: slates.relevant.columns["gain"] <= above)
    if below:
        what = f"{below:,} rows of the relevance have a gain of {above:g} or less"
        effect = f"they are not relevant; {look.count('no relevant item'):,} users have no other and do not count"
        yield Finding("rows not relevant", "note", what, effect, below)


def check_masked_rows(look: Look) -> Iterator[Finding]:
    """Rows scored -inf."""
    if masked := look.count("masked"):
        yield Finding("masked rows", "note", f"{masked:,} rows are scored -inf", "they are not shown", masked)


def _choose_level(count: int, whole: int) -> Level:
    """An alarm if it affects many."""
    return "alarm" if count > LARGE_SHARE * whole else "note"
