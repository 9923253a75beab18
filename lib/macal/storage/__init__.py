"""Files that are written whole or not at all, locks, and jobs in processes: what everything that lasts stands on."""
