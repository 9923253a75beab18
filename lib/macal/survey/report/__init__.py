"""The report of a plan: one self-contained HTML file.

``overlap`` computes, ``drawings`` draws, ``page`` writes HTML, ``document`` explains.
"""

from macal.survey.report.document import document

__all__ = ["document"]
