"""Report: the results, how they were obtained, and the forms they are shown in."""

from bridgeval.report.exports import Reports
from bridgeval.report.report import Population, Report, report_of

__all__ = ["Population", "Report", "Reports", "report_of"]
