"""What each operation leaves of a label, measured: `softaug curves`."""
