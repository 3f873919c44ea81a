"""The laboratory: recipes, data, networks, training, evaluation and reports."""
