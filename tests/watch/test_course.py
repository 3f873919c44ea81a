import pytest
from hand_made import add_rows, row

from softaug.watch.course import Course


def course(folder, *rows):
    add_rows(folder, *rows)
    found = Course(folder)
    found.update()
    return found


def test_epochs_have_loss_and_error_where_it_was_measured(tmp_path):
    found = course(tmp_path, row(1, train_error=0.9), row(2, test_error=0.25, train_error=0.5))
    assert found.after(0) == [(1, 2.0, None), (2, 1.0, 0.25)]
    assert found.after(1) == [(2, 1.0, 0.25)]
    assert found.measure() == "test error"
    assert found.so_far() == 0.25
    assert found.epoch == 2


def test_a_run_without_labels_has_the_error_of_nearest_neighbours(tmp_path):
    found = course(tmp_path, row(1, train_feature_std=0.9, validation_knn_error=0.5), row(2))
    assert found.measure() == "validation error of nearest neighbours"
    assert [one.error for one in found.after(0)] == [0.5, None]
    assert found.so_far() == 0.5


def test_an_epoch_takes_the_mean_of_the_last_five(tmp_path):
    seconds = [100.0, 102.0, 104.0, 106.0, 108.0, 120.0]
    rows = [row(epoch, seconds=passed) for epoch, passed in enumerate(seconds, 1)]
    assert course(tmp_path, *rows).epoch_seconds() == 4.0


def test_the_first_epoch_counts_from_the_beginning(tmp_path):
    assert course(tmp_path, row(1, seconds=7.5)).epoch_seconds() == 7.5


def test_nothing_is_known_before_the_first_epoch_ends(tmp_path):
    found = course(tmp_path)
    assert (found.epoch, found.epoch_seconds(), found.so_far()) == (0, None, None)
    assert (found.measure(), found.warning, found.after(0)) == ("", "", [])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "2", None, True, 10**400])
def test_what_a_browser_cannot_read_as_a_number_is_left_out(tmp_path, value):
    found = course(tmp_path, row(1, train_loss=value, test_error=value, seconds=value))
    assert found.after(0) == [(1, None, None)]
    assert found.epoch_seconds() is None


def test_the_last_epochs_warning_is_told(tmp_path):
    assert course(tmp_path, row(1, warning="it collapses")).warning == "it collapses"
    assert course(tmp_path, row(2)).warning == ""
