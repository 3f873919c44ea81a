"""The words follow the numbers, also where soft is not better."""

from softaug.lab.report.headline import headline


def test_best_means_are_named_with_their_arm(results):
    results["arms"][1]["runs"][0]["ece"] = -1.0
    words = headline(results).best
    assert "soft crop in error, NLL and accuracy at 0 and 40 % occlusion" in words
    assert "hard aggressive crop in ECE" in words


def test_soft_is_compared_with_each_other_arm(results):
    findings = headline(results).findings
    assert [f.against for f in findings] == ["hard mild crop", "hard aggressive crop"]
    assert findings[0].sentence == (
        "Soft crop against hard mild crop: better in 4 of 7 measures, worse in 0, "
        "no difference shown in 3."
    )
    assert ("error", "2.00 ± 0.06 points lower") in findings[0].measures["better"]
    assert ("accuracy at 20 % occlusion", "equal") in findings[0].measures["no difference shown"]


def test_worse_is_said_plainly(results):
    for run in results["arms"][2]["runs"]:
        run["error"] += 0.1
    measures = headline(results).findings[0].measures
    assert measures["worse"] == [("error", "8.00 ± 0.06 points higher")]


def test_error_is_not_counted_again_as_accuracy_without_occlusion(results):
    names = [name for held in headline(results).findings[0].measures.values() for name, _ in held]
    assert "error" in names
    assert "accuracy at 0 % occlusion" not in names


def test_equal_differences_give_no_verdict(results):
    mild, _, soft = results["arms"]
    for ours, theirs in zip(soft["runs"], mild["runs"], strict=True):
        ours["error"] = theirs["error"] - 0.02
    finding = headline(results).findings[0]
    assert finding.measures["not tested"] == [("error", "2.00 ± 0.00 points lower")]
    assert finding.sentence.endswith("no difference shown in 3, not tested in 1.")


def test_one_seed_gives_no_verdict(results):
    for arm in results["arms"]:
        del arm["runs"][1:]
    finding = headline(results).findings[0]
    assert "one seed only" in finding.sentence
    assert finding.measures["better"] == finding.measures["worse"] == []


def test_arms_without_a_common_seed_are_not_compared(results):
    for run in results["arms"][2]["runs"]:
        run["seed"] += 100
    assert "share no seed" in headline(results).findings[0].sentence


def test_a_single_arm_has_nothing_to_compare_with(results):
    del results["arms"][1:]
    assert headline(results).findings == ()
