"""The door for authors of plugins: every name that a metric, a loader or anything else that a plugin offers needs.

The toolkits of this package import nothing deeper. The names below are covered by the versioning promise.
"""

from bridgeval.batch.kernels import cumulate, sum_by_code
from bridgeval.batch.ranking import Order, Ranking, Relevance, Ties
from bridgeval.batch.scores import Scores
from bridgeval.convention import Convention, Entry, entry
from bridgeval.engine.bases import ListMetric, RowMetric, Slate, read_slates
from bridgeval.engine.blocks import (
    Block,
    Blocks,
    Counted,
    Hits,
    ItemColumn,
    Matches,
    Ranked,
    Relevant,
    RelevantCount,
    ShownColumn,
    ShownCount,
    ShownGains,
    UserColumn,
    UserGroups,
    Users,
    by_item,
)
from bridgeval.engine.inputs import Inputs, list_offers
from bridgeval.engine.metric import (
    Metric,
    PrefixMetric,
    RatioMetric,
    RelevanceMetric,
    TopKMetric,
    TotalMetric,
    UserMetric,
    check_cutoff,
    summarize,
)
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Plan, States
from bridgeval.engine.ported_metric import port_class
from bridgeval.engine.scored_inputs import ScoredInputs
from bridgeval.engine.source import (
    DeferredSource,
    LocalSource,
    Source,
    Sources,
    TypedLoader,
    make_source,
    run_metrics,
)
from bridgeval.engine.state import Collected, Floats, ItemSums, Joint, Moments, Numbers, State, Sums, Tally, UserTable
from bridgeval.engine.streaming import file_source
from bridgeval.engine.summary import Over, Result, half_width
from bridgeval.hookspecs import LazyCommand, Loader, Reader, Sink, hookimpl
from bridgeval.inspection.findings import Finding
from bridgeval.inspection.look import Look
from bridgeval.io.columns import Role, find_columns
from bridgeval.io.files import find_files, is_path, open_table, read_table
from bridgeval.io.frames import is_frame, is_listing, to_table
from bridgeval.io.listings import is_sparse
from bridgeval.io.outputs import is_inside, written_beside
from bridgeval.metrics.blocks.gains import discounts
from bridgeval.metrics.blocks.hits import HitCounts
from bridgeval.metrics.blocks.listed_items import item_counts, population
from bridgeval.metrics.blocks.policy_weights import NcisMetric
from bridgeval.plugins import load_plugins
from bridgeval.report.comparison import Comparison
from bridgeval.report.page.page_data import PageData
from bridgeval.report.page.section import Section
from bridgeval.report.report import Population, Report
from bridgeval.tables.context import Context, Table
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import Rows, read_numbers, read_rows
from bridgeval.tables.slates import Lists, Slates

# Grouped by subject, in the order in which an author meets them.
__all__ = [  # noqa: RUF022
    # Metrics: a base to inherit from, its parameters, its result.
    "Metric",
    "UserMetric",
    "TopKMetric",
    "RelevanceMetric",
    "PrefixMetric",
    "RatioMetric",
    "TotalMetric",
    "ListMetric",
    "RowMetric",
    "NcisMetric",
    "Slate",
    "read_slates",
    "Needs",
    "Numbers",
    "Ranking",
    "Relevance",
    "Order",
    "Ties",
    "Users",
    "Over",
    "Result",
    "check_cutoff",
    "port_class",
    # Blocks: tensors derived from a batch and shared by all metrics.
    "Block",
    "Blocks",
    "Counted",
    "Hits",
    "HitCounts",
    "Matches",
    "Ranked",
    "Relevant",
    "RelevantCount",
    "ShownColumn",
    "ShownCount",
    "ShownGains",
    "ItemColumn",
    "UserColumn",
    "UserGroups",
    "by_item",
    "cumulate",
    "discounts",
    "item_counts",
    "population",
    # States: values that merge.
    "State",
    "Moments",
    "Collected",
    "Sums",
    "ItemSums",
    "Tally",
    "Joint",
    "UserTable",
    "Floats",
    "half_width",
    "sum_by_code",
    "summarize",
    # Loaders: from objects to a Source of Slates.
    "Loader",
    "TypedLoader",
    "Source",
    "Sources",
    "LocalSource",
    "DeferredSource",
    "make_source",
    "file_source",
    "run_metrics",
    "Inputs",
    "list_offers",
    "Scores",
    "ScoredInputs",
    "Plan",
    "States",
    # Data: ids, rows, lists, tables.
    "Ids",
    "Rows",
    "Lists",
    "Slates",
    "Context",
    "Table",
    "Role",
    "encode_ids",
    "read_rows",
    "read_numbers",
    "to_table",
    "is_frame",
    "is_listing",
    "is_sparse",
    "find_columns",
    # Files, and readers of a kind of them.
    "Reader",
    "is_inside",
    "is_path",
    "find_files",
    "open_table",
    "read_table",
    # Conventions.
    "Convention",
    "Entry",
    "entry",
    # Results, and what else is offered: sinks, sections of the page, checks, commands.
    "Report",
    "Population",
    "Comparison",
    "Sink",
    "Section",
    "PageData",
    "Look",
    "Finding",
    "LazyCommand",
    "written_beside",
    # Registration.
    "hookimpl",
    "load_plugins",
]
