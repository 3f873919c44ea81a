"""Priors: made of confusions or of CIFAR-100's groups, written, read, refused."""

import hashlib
import json

import pytest
import torch

from softaug import SoftLabel, SoftLoss
from softaug.lab.data.cifar import COARSE_OF_FINE, RELEASES
from softaug.lab.data.prior import confusion_prior, describe_prior, read_prior

NAMES = ["cat", "dog", "ship"]
ROWS = [[0.5, 0.5, 0.0], [0.4, 0.4, 0.2], [0.25, 0.25, 0.5]]
CIFAR100 = [f"class{label}" for label in range(100)]


def write(path, **changes):
    content = describe_prior(torch.tensor(ROWS), NAMES, about={}) | changes
    path.write_text(json.dumps(content))
    return str(path)


def slow_guess(mass, smoothing):
    rows = []
    for true, row in enumerate(mass):
        wrong = [share for label, share in enumerate(row) if label != true]
        whole = [max(wrong) if label == true else share for label, share in enumerate(row)]
        rows.append([(1 - smoothing) * w / sum(whole) + smoothing / len(row) for w in whole])
    return rows


def test_a_prior_is_the_slow_rule_and_prefers_no_class_to_the_true_one():
    mass = torch.rand(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.tensor(slow_guess(mass.tolist(), 0.2), dtype=torch.float64)
    found = confusion_prior(mass, 0.2)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(1), torch.ones(6, dtype=torch.float64))
    assert torch.equal(found.diagonal(), found.max(1).values)


def test_smoothing_ends_at_uniform_as_does_a_class_that_is_never_confused():
    assert confusion_prior(torch.eye(4) + 1, smoothing=1.0).eq(0.25).all()
    assert confusion_prior(torch.eye(4), smoothing=0.0).eq(0.25).all()
    with pytest.raises(ValueError, match=r"confusion_prior: smoothing must be a number in 0\.\.1"):
        confusion_prior(torch.ones(2, 2), smoothing=1.5)


def test_coarse_rows_stay_in_the_group_but_for_the_smoothing(monkeypatch):
    with pytest.raises(ValueError, match=r"CIFAR-100's, in order, got class0; .*\"uniform\""):
        read_prior("coarse", CIFAR100)
    sha256 = hashlib.sha256("\n".join(CIFAR100).encode()).hexdigest()
    monkeypatch.setitem(RELEASES["cifar100"].names_sha256, "fine", sha256)
    rows = read_prior("coarse", CIFAR100)
    for true in (0, 37, 99):
        for label in range(100):
            mate = COARSE_OF_FINE[label] == COARSE_OF_FINE[true]
            assert float(rows[true, label]) == pytest.approx(0.9 / 5 * mate + 0.1 / 100)


def test_a_file_is_read_back_and_serves_the_loss(tmp_path):
    prior = read_prior(write(tmp_path / "prior.json"), NAMES)
    torch.testing.assert_close(prior, torch.tensor(ROWS))
    label = SoftLabel(torch.tensor([1]), torch.tensor([0.5]))
    target = torch.tensor([[0.2, 0.7, 0.1]])  # half of the label, half of its row
    found = SoftLoss("target", prior=prior)(target.log(), label)
    assert float(found) == pytest.approx(0.0, abs=1e-6)


def test_a_file_of_the_first_version_is_read(tmp_path):
    content = {"schema": 1, "kind": "prior", "class_names": NAMES, "rows": ROWS, "about": {}}
    (tmp_path / "prior.json").write_text(json.dumps(content))
    found = read_prior(str(tmp_path / "prior.json"), NAMES)
    torch.testing.assert_close(found, torch.tensor(ROWS))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"kind": "curves"}, "kind must be 'prior', got 'curves'"),
        ({"schema_version": 9}, "must have schema_version 3, got 9"),
        ({"class_names": NAMES[:2]}, "must be for the data's 3 classes, in order, got cat, dog"),
        ({"class_names": ["cat", "ship", "dog"]}, "in order, got cat, ship, dog"),
        ({"rows": ROWS[:2]}, "there must be a column for each row, got 3"),
        ({"rows": [[1.5, -0.5, 0], *ROWS[1:]]}, r"rows\[0\]\[0\] must be less .*, got 1.5"),
        ({"rows": [*ROWS[:2], [0.5, 0.5, 0.5]]}, r"must sum to 1, got 1.5 \(class 2\)"),
        ({"rows": [["a"] * 3] * 3}, "must be a valid number, got 'a'"),
        ({"rows": [[1.0]]}, "must be for the data's 3 classes"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, changes, rule):
    path = write(tmp_path / "prior.json", **changes)
    with pytest.raises(ValueError, match=f"{path}: .*{rule}.*; make one with `softaug curves conf"):
        read_prior(path, NAMES)
    (tmp_path / "prior.json").unlink()
    with pytest.raises(ValueError, match=f"{path}: .*; make one with `softaug curves confusion`"):
        read_prior(path, NAMES)


def test_a_measured_prior_comes_with_softaug_and_is_for_its_classes_alone():
    from softaug.lab.data.images import load

    names = load("fashion-mini", None).class_names
    prior = read_prior("confusion", names)
    torch.testing.assert_close(prior.sum(1), torch.ones(10))
    assert torch.equal(prior.diagonal(), prior.amax(1))
    with pytest.raises(ValueError, match="comes with softaug for fashion-mini, got cat, dog, ship"):
        read_prior("confusion", NAMES)
