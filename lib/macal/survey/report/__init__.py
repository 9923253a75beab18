"""The report of a plan: one HTML file that asks nothing of any other machine.

``overlap`` computes, ``drawings`` draws, ``page`` writes HTML, ``document`` says what it all means.
"""

from macal.survey.report.document import document

__all__ = ["document"]
