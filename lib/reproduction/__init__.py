"""The paper, checked: its theory, the claims and their verdicts, the studies of single chapters, and what pages need.

Everything here may use :mod:`macal`, the tool; nothing there uses this.
"""
