import pytest
from scipy.stats import t

from softaug.lab.evaluation.stats import t_quantile


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 31, 100, 1001])
def test_equals_scipy(level, freedom) -> None:
    expected = t.ppf((1 + level) / 2, freedom)
    assert t_quantile(level, freedom) == pytest.approx(expected, rel=1e-9)
