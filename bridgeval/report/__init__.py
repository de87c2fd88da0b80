"""Report: the results, how they were obtained, and the forms they are shown in."""

from bridgeval.report.exports import Reports
from bridgeval.report.report import Population, Report, build_report

__all__ = ["Population", "Report", "Reports", "build_report"]
