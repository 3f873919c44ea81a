import hashlib
import json

import pytest
import torch

from softaug import SoftLabel, SoftLoss
from softaug.lab.data.cifar import COARSE_OF_FINE, RELEASES
from softaug.lab.data.prior import coarse_prior, confusion_prior, describe_prior, read_prior

NAMES = ["cat", "dog", "ship"]
ROWS = [[0.5, 0.5, 0.0], [0.4, 0.4, 0.2], [0.25, 0.25, 0.5]]


def cifar100_names():
    return [f"class{label}" for label in range(100)]


@pytest.fixture
def names(monkeypatch):
    """A hundred names that pass for CIFAR-100's."""
    made_up = cifar100_names()
    sha = hashlib.sha256("\n".join(made_up).encode()).hexdigest()
    monkeypatch.setitem(RELEASES["cifar100"].names_sha256, "fine", sha)
    return made_up


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


def test_a_guess_is_the_slow_rule():
    mass = torch.rand(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.tensor(slow_guess(mass.tolist(), 0.2), dtype=torch.float64)
    torch.testing.assert_close(confusion_prior(mass, 0.2), expected)


def test_no_class_is_likelier_than_the_true_one():
    rows = confusion_prior(torch.rand(8, 8, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(rows.diagonal(), rows.max(1).values)
    torch.testing.assert_close(rows.sum(1), torch.ones(8, dtype=torch.float64))


def test_smoothing_ends_at_uniform():
    assert confusion_prior(torch.eye(4) + 1, smoothing=1.0).eq(0.25).all()


def test_a_class_never_taken_for_another_is_spread_evenly():
    assert confusion_prior(torch.eye(4), smoothing=0.0).eq(0.25).all()


def test_smoothing_outside_0_to_1_is_refused():
    with pytest.raises(ValueError, match=r"confusion_prior: smoothing must be a number in 0\.\.1"):
        confusion_prior(torch.ones(2, 2), smoothing=1.5)


def test_coarse_rows_stay_in_the_group_but_for_the_smoothing(names):
    rows = read_prior("coarse", names)
    for true in (0, 37, 99):
        for label in range(100):
            mate = COARSE_OF_FINE[label] == COARSE_OF_FINE[true]
            assert float(rows[true, label]) == pytest.approx(0.9 / 5 * mate + 0.1 / 100)


def test_a_smoothing_of_the_coarse_rows_may_be_chosen(names):
    assert coarse_prior(names, smoothing=0.0)[0].unique().tolist() == [0.0, 0.2]


def test_coarse_is_for_cifar100_alone():
    with pytest.raises(ValueError, match="the classes must be CIFAR-100's 100, got 2"):
        read_prior("coarse", NAMES[:2])
    with pytest.raises(ValueError, match=r"CIFAR-100's, in order, got class0; .*\"uniform\""):
        read_prior("coarse", cifar100_names())


def test_a_file_is_read_back_and_serves_the_loss(tmp_path):
    prior = read_prior(write(tmp_path / "prior.json"), NAMES)
    torch.testing.assert_close(prior, torch.tensor(ROWS))
    label = SoftLabel(torch.tensor([1]), torch.tensor([0.5]))
    target = torch.tensor([[0.2, 0.7, 0.1]])  # half of the label, half of its row
    found = SoftLoss("target", prior=prior)(target.log(), label)
    assert float(found) == pytest.approx(0.0, abs=1e-6)


def test_a_file_of_many_classes_is_read_back(tmp_path):
    mass = torch.rand(700, 700, generator=torch.Generator().manual_seed(0))
    rows, names = confusion_prior(mass), [f"class{label}" for label in range(700)]
    (tmp_path / "prior.json").write_text(json.dumps(describe_prior(rows, names, about={})))
    found = read_prior(str(tmp_path / "prior.json"), names)
    torch.testing.assert_close(found, rows.float(), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"kind": "curves"}, "must be of kind \"prior\", schema 1, got kind 'curves'"),
        ({"schema": 9}, "got kind 'prior', schema 9"),
        ({"class_names": NAMES[:2]}, "must be for the data's 3 classes, got one for 2"),
        ({"class_names": ["cat", "ship", "dog"]}, "class 1 of .* must be 'dog', got 'ship'"),
        ({"rows": ROWS[:2]}, r"must be \[3, 3\], got \[2, 3\]"),
        ({"rows": [[1.5, -0.5, 0], *ROWS[1:]]}, "must not be negative, got -0.5"),
        ({"rows": [*ROWS[:2], [0.5, 0.5, 0.5]]}, r"must sum to 1, got 1.5 \(class 2\)"),
        ({"rows": [[1], [0, 1], [1]]}, "must be numbers"),
        ({"rows": [["a"] * 3] * 3}, "must be numbers"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, changes, rule):
    with pytest.raises(ValueError, match=f"read_prior: .*{rule}"):
        read_prior(write(tmp_path / "prior.json", **changes), NAMES)


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "prior", "schema": 1}'])
def test_what_is_no_prior_is_refused(tmp_path, text):
    (tmp_path / "prior.json").write_text(text)
    with pytest.raises(ValueError, match=r"read_prior: .*prior\.json must"):
        read_prior(str(tmp_path / "prior.json"), NAMES)


def test_a_missing_file_is_told_how_to_make_one(tmp_path):
    with pytest.raises(ValueError, match="no such file; make one with `softaug curves confusion`"):
        read_prior(str(tmp_path / "none.json"), NAMES)
