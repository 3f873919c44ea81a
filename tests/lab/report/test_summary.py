"""Means, standard errors, paired differences and verdicts against values worked out by hand."""

import math

import pytest

from softaug.lab.report import summarise
from softaug.lab.report.summary import compare


def test_mean_and_standard_error_by_hand(results):
    error = summarise(results).arms[0].estimates["error"]
    assert error.mean == pytest.approx(0.05)
    assert error.se == pytest.approx(0.01 / math.sqrt(3))  # sd of 0.04, 0.05, 0.06 is 0.01
    assert error.n == 3


def test_differences_are_paired_by_seed_against_the_first_arm(results):
    mild, aggressive, soft = summarise(results).arms
    assert mild.differences == {}
    assert soft.differences["error"].mean == pytest.approx(-0.02)
    assert soft.differences["error"].se == pytest.approx(0.001 / 3**0.5)  # unpaired: 0.0086
    assert aggressive.differences["error"].mean == pytest.approx(0)
    assert aggressive.differences["error"].se == pytest.approx(0.01 / math.sqrt(3))
    assert soft.differences["occlusion/40"].mean == pytest.approx(0.02)


def test_pairs_do_not_depend_on_the_order_of_the_runs(results):
    before = summarise(results).arms[2].differences["nll"]
    results["arms"][2]["runs"].reverse()
    after = summarise(results).arms[2].differences["nll"]
    assert (after.mean, after.se) == pytest.approx((before.mean, before.se), abs=1e-12)


def test_only_seeds_of_both_arms_are_paired(results):
    results["arms"][2]["runs"][0]["seed"] = 77
    assert summarise(results).arms[2].differences["error"].n == 2
    for run in results["arms"][2]["runs"]:
        run["seed"] += 100
    assert summarise(results).arms[2].differences == {}


def test_metrics_stand_in_the_order_of_the_table(results):
    keys = [metric.key for metric in summarise(results).metrics]
    assert keys == ["error", "nll", "ece", *(f"occlusion/{p}" for p in (0, 20, 40, 60, 80))]


def test_best_is_lowest_error_highest_accuracy_and_names_ties(results):
    summary = summarise(results)
    best = {metric.key: summary.best(metric) for metric in summary.metrics}
    assert best["error"] == best["occlusion/0"] == ["soft crop"]
    assert best["occlusion/20"] == [arm.name for arm in summary.arms]


def test_compare_judges_each_metric(results):
    mild, _, soft = results["arms"]
    verdicts = compare(soft, mild).verdicts
    assert verdicts["error"] == verdicts["occlusion/40"] == "better"
    assert verdicts["occlusion/20"] == "no difference shown"
    assert compare(mild, soft).verdicts["error"] == "worse"
