"""Training: the one place that joins data, transforms, models, losses and metrics."""
