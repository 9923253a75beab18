"""Recorded studies of single chapters: what is run for a table, and the command that runs it."""
