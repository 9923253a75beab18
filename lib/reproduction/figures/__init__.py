"""Figures of single chapters, and the stepper that chapters share."""
