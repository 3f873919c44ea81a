"""Sources of images."""
