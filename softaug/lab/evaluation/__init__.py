"""What a trained run can do: predictions, calibration, robustness, as result files."""
