"""Who is far from the labels and which pairs are worth most: exact, lazy, over whoever may be picked."""
