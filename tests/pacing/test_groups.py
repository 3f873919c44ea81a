"""Classes and samples get more or less of the overall strength."""

import io

import pytest
import torch

from softaug import MixedLabel, Pacer, SoftCrop
from softaug.pacing import AccuracyHold, ConfidenceMatch
from softaug.pacing.statistics import DOUBLING
from tests.pacing.own_rule import LABELS, PLAIN, Line, answers

STEP = 2**0.101  # the square root of 1.15, in whole thousandths of a doubling
BY = pytest.mark.parametrize("by", ["class", "sample"])


def paced(by, rule=None, epochs=40, num=10, **settings):
    chosen = {**PLAIN, **settings}
    return Pacer(SoftCrop("auto"), epochs, rule or Line(), by=by, num=num, **chosen)


def after(pacer, right):
    """What each has after an epoch, sample i being the one of class i."""
    sample = LABELS if pacer.by == "sample" else None
    pacer.watch(answers(right), LABELS, sample=sample)
    pacer.next_epoch()
    return pacer.strengths / pacer.strength


def tables(pacer):
    return pacer.state_dict().get("tables", {})


@BY
def test_those_ahead_get_more_and_those_behind_less(by):
    pacer = paced(by, first=0.2)
    found = after(pacer, LABELS < 5)
    assert pacer.strength == pytest.approx(0.23)
    assert found.tolist() == pytest.approx([STEP] * 5 + [1 / STEP] * 5)
    found = after(paced(by, first=0.2), LABELS < 8)  # 8 steps up, 2 down: 0.6 steps too many
    assert found.log2().tolist() == pytest.approx([0.0404] * 8 + [-0.1616] * 2, abs=0.001)


@BY
def test_scales_stay_within_a_half_and_twice_and_even_out(by):
    pacer, narrow = paced(by, least=1e-3, most=9.0), paced(by, least=0.09, most=0.12)
    for epoch in range(40):
        found = after(pacer, LABELS - epoch % 2 < 3)
        assert found.min() >= 0.5
        assert found.max() <= 2
        assert abs(found.log2().mean()) <= 1.01 / DOUBLING
        after(narrow, LABELS < 5)
    assert found[0] == 2
    assert (narrow.strengths.min(), narrow.strengths.max()) == (0.09, 0.12)


@pytest.mark.parametrize("first", [0.1, 0.25])  # the second has some at the upper limit
@BY
def test_each_settles_at_half_of_its_own(by, first):
    settling, plain = (
        paced(by, AccuracyHold(1), epochs=10, first=first, least=0.01, settle=share)
        for share in (0.1, 0)
    )
    for _ in range(9):
        for pacer in (settling, plain):
            after(pacer, LABELS < 5)
    assert plain.strengths.unique().numel() == 2
    torch.testing.assert_close(settling.strengths, plain.strengths / 2)


@pytest.mark.parametrize("rule", [AccuracyHold(0.1), ConfidenceMatch()], ids=repr)
@BY
def test_the_overall_strength_is_that_of_a_pacer_by_all(by, rule):
    own, plain = paced(by, rule), paced("all", rule, num=None)
    for epoch in range(12):
        for pacer in (own, plain):
            after(pacer, (LABELS * 7 + epoch) % 10 < epoch)
        assert (own.strength, own.lead) == (plain.strength, plain.lead)
    assert plain.strengths == plain.strength


def test_scales_settle_where_the_distance_says():
    pacer = paced("class", epochs=30, num=2, least=1e-9)
    labels, right = torch.arange(20) % 2, torch.arange(20) < torch.tensor([12, 8]).repeat(10)
    for _ in range(30):
        pacer.watch(torch.eye(2)[torch.where(right, labels, 1 - labels)], labels)
        pacer.next_epoch()
    scales = (pacer.strengths / pacer.strength).log2()  # right in 0.6 and 0.4, overall in 0.5
    assert scales.tolist() == pytest.approx([0.2, -0.2], abs=0.002)


def test_a_sample_is_known_by_all_its_epochs_a_class_by_the_last():
    found = {}
    for by in ("class", "sample"):
        pacer = paced(by, factor=16.0, least=1e-9, most=1e9)  # every aim is one step away
        for right in (LABELS < 5, LABELS < 5, LABELS < 5, LABELS >= 5):
            found[by] = after(pacer, right)
    assert found["class"][0] == 0.5
    ahead = 0.3 * (0.7 + 0.7**2 + 0.7**3) / (1 - 0.7**4) - 0.5
    assert float(found["sample"][0]) == pytest.approx(2 ** (2 * ahead), rel=0.001)


def test_samples_that_are_not_seen_stay_where_they_are_among_others():
    pacer = paced("sample", num=12)
    after(pacer, LABELS < 5)
    assert tables(pacer)["levels"].tolist() == [101] * 5 + [-101] * 5 + [0, 0]
    pacer.watch(answers(LABELS < 2)[:4], LABELS[:4], sample=LABELS[:4])
    pacer.next_epoch()
    levels = tables(pacer)["levels"]
    assert (levels - levels[-1]).tolist() == [202] * 2 + [0] * 2 + [101] + [-101] * 5 + [0, 0]


def test_a_batch_in_any_parts_and_order_leads_to_the_same_tables():
    right, order = LABELS % 3 > 0, torch.randperm(10, generator=torch.Generator().manual_seed(0))
    whole, groups = (paced("sample", ConfidenceMatch()) for _ in range(2))
    after(whole, right)
    for rows in order.split([1, 6, 3]):
        groups.watch(answers(right)[rows], LABELS[rows], sample=LABELS[rows])
    groups.next_epoch()
    for name, table in tables(whole).items():
        assert torch.equal(table, tables(groups)[name])


def test_a_mixed_image_counts_for_the_class_of_its_larger_share():
    pairs = torch.stack([LABELS.roll(1), LABELS], dim=1)
    share = torch.tensor([0.3, 0.7]).expand(10, 2)
    pacer, plain = paced("class"), paced("class")
    pacer.watch(answers(LABELS < 5), MixedLabel(pairs, torch.ones(10, 2), share))
    plain.watch(answers(LABELS < 5), LABELS)
    assert torch.equal(tables(pacer)["sums"][:, :2], tables(plain)["sums"][:, :2])


@BY
def test_a_state_saved_within_an_epoch_goes_on_to_the_same_strengths(by):
    unbroken, resumed, file = paced(by), paced(by), io.BytesIO()
    sample = LABELS if by == "sample" else None
    after(unbroken, LABELS < 6)
    unbroken.watch(answers(LABELS < 3), LABELS, sample=sample)
    torch.save(unbroken.state_dict(), file)
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(resumed.strengths, unbroken.strengths)
    for right in (LABELS > 3, LABELS < 9):
        assert torch.equal(after(resumed, right), after(unbroken, right))


class Plain:
    """A rule that tells nobody apart."""

    lead = Line.lead


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "classes", "num": 10}, "by must be one of .* got 'classes'; did you mean 'class'"),
        ({"by": "class"}, 'by "class" must have a num, got None; give the number of classes'),
        ({"by": "sample"}, "must have a num, got None; give the number of training samples"),
        ({"by": "sample", "num": 1}, "num must be a whole number >= 2"),
        ({"num": 10}, 'num is for by "class" or "sample", got 10'),
        ({"by": "class", "num": 10, "rule": Plain()}, "a rule that separates them, got"),
    ],
)
def test_what_cannot_be_paced_apart_is_refused(settings, message):
    with pytest.raises(ValueError, match=f"^Pacer: .*{message}"):
        Pacer(SoftCrop("auto"), 4, **settings)


MIXED = MixedLabel(torch.zeros(10, 2).long(), torch.ones(10, 2), torch.full((10, 2), 0.5))


@pytest.mark.parametrize(
    ("pacer", "call", "message"),
    [
        (paced("sample"), {}, "must have a sample for each of the 10 logits, got None.*; watch"),
        (paced("sample"), {"sample": LABELS[1:]}, r"each of the 10 logits, got int64 .*\[9\]"),
        (paced("sample"), {"sample": LABELS / 2}, "sample must be integers"),
        (paced("sample"), {"sample": LABELS + 1}, r"sample must be in 0\.\.9, got 10"),
        (paced("sample"), {"sample": LABELS, "label": MIXED}, "for labels of one image, got mixed"),
        (paced("class"), {"sample": LABELS}, 'sample is for by "sample", got it with by "class"'),
        (paced("all", num=None), {"sample": LABELS}, 'for by "sample", got it with by "all"'),
        (paced("class", num=9), {}, "logits must be of num = 9 classes, got 10"),
    ],
)
def test_answers_of_nobody_are_refused(pacer, call, message):
    with pytest.raises(ValueError, match=f"^Pacer: .*{message}"):
        pacer.watch(answers(LABELS < 5), **{"label": LABELS, **call})
    assert not any(table.any() for table in tables(pacer).values())


@pytest.mark.parametrize("other", [paced("class"), paced("sample", num=11), paced("all", num=None)])
def test_the_state_of_a_pacer_by_others_is_refused(other):
    rule = r"Pacer: the state must be that of .* by='sample', num=10"
    with pytest.raises(ValueError, match=rule):
        paced("sample").load_state_dict(other.state_dict())
