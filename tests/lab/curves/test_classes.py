import pytest
import torch

from softaug.lab.curves.fit import ClassRates, Fitted, class_rates, fit_classes

X = torch.linspace(0, 1, 10, dtype=torch.float64)[1:]
EVEN = torch.ones(9)
COMMON = Fitted(torch.tensor(1.0, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64))
OWN = torch.tensor([1.0, 2.0, 4.0, 8.0], dtype=torch.float64)


def classes(num, whole=0.8):
    """Classes whose own k are OWN, measured on `num` images each, without false alarms."""
    hit = whole * (1 - torch.cat([torch.zeros(1).double(), X]) ** OWN[:, None])
    rates = ClassRates(hit, torch.zeros_like(hit), torch.as_tensor(num).expand(4))
    return fit_classes(X, rates, COMMON, EVEN)


def slow_rates(answers, labels, label):
    """Share of answers `label` to its own images, and to the others."""
    own, others = [], []
    for image, true in enumerate(labels):
        given = [float(answer == label) for answer in answers[image]]
        (own if true == label else others).append(sum(given) / len(given))
    return sum(own) / len(own), sum(others) / len(others)


def test_rates_are_a_loop_over_images():
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (60,), generator=generator)
    answers = torch.randint(4, (60, 3, 2), generator=generator, dtype=torch.int32)
    found = class_rates(answers, labels, 4)
    for label in range(4):
        for column in range(3):
            expected = slow_rates(answers[:, column].tolist(), labels.tolist(), label)
            rates = found.hit[label, column], found.false_alarm[label, column]
            assert tuple(map(float, rates)) == pytest.approx(expected)


def test_one_who_answers_by_habit_knows_nothing():
    answers = torch.zeros(30, 1, 1, dtype=torch.int32)
    assert class_rates(answers, torch.arange(30) % 10, 10).known.tolist() == [[0.0]] * 10


def test_what_is_known_of_classes_is_on_average_what_accuracy_says():
    generator, labels = torch.Generator().manual_seed(1), torch.arange(200) % 5
    lucky = torch.rand(200, generator=generator) < 0.6
    answers = torch.where(lucky, labels, torch.randint(5, (200,), generator=generator) // 2)
    accuracy = float((answers == labels).double().mean())
    found = class_rates(answers.view(-1, 1, 1), labels, 5).known.mean()
    assert float(found) == pytest.approx((accuracy - 0.2) / 0.8)


def test_the_error_of_what_is_known_is_that_of_both_rates():
    rates = ClassRates(torch.tensor([[0.5]]), torch.tensor([[0.5]]), torch.tensor([998]))
    both = rates._replace(num=torch.tensor([998, 98])).error
    expected = (0.25 / 1000 + 0.25 / 100) ** 0.5
    assert both.flatten().tolist() == pytest.approx([expected] * 2)


def test_classes_with_very_many_images_keep_their_own_k():
    torch.testing.assert_close(classes(10**9), OWN, rtol=1e-2, atol=0)


def test_a_class_without_images_has_the_common_k():
    found = classes([0, 10**9, 10**9, 10**9])
    assert float(found[0]) == 2
    torch.testing.assert_close(found[1:], OWN[1:], rtol=1e-2, atol=0)


def test_a_class_that_is_not_accuracy_whole_has_the_common_k():
    assert classes(10**6, whole=0.0).tolist() == [2.0] * 4


def test_a_class_with_fewer_images_is_held_closer_to_the_common_k():
    few, many = classes([30, 10**6, 10**6, 30]), classes(10**6)
    assert 1.001 < float(few[0]) < 2
    assert 2 < float(few[3]) < float(many[3])


def test_classes_that_differ_by_less_than_their_errors_share_the_common_k():
    assert classes(3).tolist() == pytest.approx([2.0] * 4)


def test_where_nothing_is_lost_all_classes_have_the_common_k():
    harmless = Fitted(torch.tensor(0.0), torch.tensor(1.0))
    rates = ClassRates(torch.full((2, 10), 0.9), torch.zeros(2, 10), torch.tensor([50, 50]))
    assert fit_classes(X, rates, harmless, EVEN).tolist() == [1.0, 1.0]
