"""Which units are far from the labels and which pairs score highest: exact, lazy, over the eligible units."""
