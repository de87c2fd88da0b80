"""Atomic files, split data sets and metric classes of RecBole, by the public names of bridgeval alone."""

import click

import bridgeval
from bridgeval.plugin import hookimpl
from bridgeval_recbole.atomic_files import AtomicReader
from bridgeval_recbole.metric_classes import TopkMetric, ported
from bridgeval_recbole.split_data import Split, SplitLoader

__all__ = ["AtomicReader", "Split", "SplitLoader", "TopkMetric", "evaluate_split", "ported"]


@click.command("recbole")
@click.argument("recs")
@click.argument("folder")
@click.option("-m", "--metric", "metrics", multiple=True, default=("ndcg@10", "recall@10"), show_default=True)
def evaluate_split(recs, folder, metrics):
    """Evaluate RECS on the test part of a split data set, by the definitions of RecBole."""
    click.echo(bridgeval.evaluate(recs, Split(folder), metrics, convention="recbole"))


@hookimpl
def bridgeval_readers():
    return [AtomicReader()]


@hookimpl
def bridgeval_loaders():
    return [SplitLoader()]


@hookimpl
def bridgeval_commands():
    return [evaluate_split]
