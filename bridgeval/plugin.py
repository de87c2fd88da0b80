"""The door for authors of plugins: every name that a metric, a loader or a convention needs.

Toolkits of this package import nothing deeper. Names listed here are covered by the versioning promise.
"""

from bridgeval.batch.batch import batches
from bridgeval.batch.ranking import Order, Ranking, Relevance, Ties
from bridgeval.batch.scores import ScoredInputs, Scores
from bridgeval.batch.tensors import tensor_of
from bridgeval.convention import Convention, Entry, entry
from bridgeval.engine import summary
from bridgeval.engine.bases import ListMetric, RowMetric, Slate
from bridgeval.engine.blocks import (
    Block,
    Blocks,
    Counted,
    Hits,
    Matches,
    Ranked,
    Relevant,
    RelevantCount,
    ShownColumn,
    ShownCount,
    ShownGains,
    UserGroups,
    Users,
    by_item,
)
from bridgeval.engine.inputs import Inputs, offers_of
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.metric import Metric, TopKMetric, TotalMetric, UserMetric, UserValues, check_cutoff, literal
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Execution, Plan, States, fold
from bridgeval.engine.source import DeferredSource, LocalSource, Source, Sources, held, source_of
from bridgeval.engine.state import Floats, ItemSums, Sums, Tally, UserTable
from bridgeval.engine.streaming import StreamedSource
from bridgeval.engine.summary import Over, Result, half_width
from bridgeval.hookspecs import Loader, hookimpl
from bridgeval.io.columns import Role, columns_for, has
from bridgeval.io.datasets import dataset_at, memory_of
from bridgeval.io.files import PARQUET_MAGIC, files_at, is_path, opened, schema_at
from bridgeval.metrics.blocks.gains import discounts
from bridgeval.metrics.blocks.hits import HitCount
from bridgeval.metrics.blocks.listed_items import item_counts, population
from bridgeval.metrics.blocks.policy_weights import NcisMetric
from bridgeval.report.report import Population, Report
from bridgeval.stats.comparison import Comparison
from bridgeval.tables.context import Context, Table
from bridgeval.tables.encoding import distinct, encode
from bridgeval.tables.grouping import order_by
from bridgeval.tables.ids import Codes, Ids
from bridgeval.tables.rows import Rows, as_table, is_frame, numbers_of, rows_of
from bridgeval.tables.slates import Lists, Slates

__all__ = [
    "PARQUET_MAGIC",
    "Block",
    "Blocks",
    "Codes",
    "Comparison",
    "Context",
    "Convention",
    "Counted",
    "DeferredSource",
    "Entry",
    "Execution",
    "Floats",
    "HitCount",
    "Hits",
    "Ids",
    "Inputs",
    "ItemSums",
    "ListMetric",
    "Lists",
    "Loader",
    "LocalSource",
    "Lookup",
    "Matches",
    "Metric",
    "NcisMetric",
    "Needs",
    "Order",
    "Over",
    "Plan",
    "Population",
    "Ranked",
    "Ranking",
    "Relevance",
    "Relevant",
    "RelevantCount",
    "Report",
    "Result",
    "Role",
    "RowMetric",
    "Rows",
    "ScoredInputs",
    "Scores",
    "ShownColumn",
    "ShownCount",
    "ShownGains",
    "Slate",
    "Slates",
    "Source",
    "Sources",
    "States",
    "StreamedSource",
    "Sums",
    "Table",
    "Tally",
    "Ties",
    "TopKMetric",
    "TotalMetric",
    "UserGroups",
    "UserMetric",
    "UserTable",
    "UserValues",
    "Users",
    "as_table",
    "batches",
    "by_item",
    "check_cutoff",
    "columns_for",
    "dataset_at",
    "discounts",
    "distinct",
    "encode",
    "entry",
    "files_at",
    "fold",
    "half_width",
    "has",
    "held",
    "hookimpl",
    "is_frame",
    "is_path",
    "item_counts",
    "literal",
    "memory_of",
    "numbers_of",
    "offers_of",
    "opened",
    "order_by",
    "population",
    "rows_of",
    "schema_at",
    "source_of",
    "summary",
    "tensor_of",
]
