"""Keep the numbers of every finished run, and write the tables of docs/results/self-paced.md.

    python -m studies.self_paced.collect softaug-reproduce/cpu

Without a folder they are made again from runs/. Runs of recipes that the evidence has too lie in
studies/evidence/runs: run studies.evidence.collect, too, if there are new ones. Every measure of
every arm: tables.md.
"""

import sys
from pathlib import Path
from statistics import geometric_mean
from typing import NamedTuple

import matplotlib.pyplot as plt

from softaug.lab.evaluation.stats import paired_difference, verdict
from softaug.lab.recipes.budgets import (
    DATA,
    DEEPER,
    DEEPER_EPOCHS,
    EPOCHS,
    FAR,
    HARD,
    MIDDLE,
    MILD,
    MODEL,
    OTHER_PACES,
    PACED,
    UNSEEN,
    budget_name,
)
from softaug.lab.recipes.paper_tables import find_tables
from studies.collect import (
    ALL_MEASURES,
    ECE,
    ERROR,
    HIDDEN,
    IMAGES,
    NLL,
    PAGES,
    Measure,
    Values,
    as_table,
    by_seed,
    differences,
    estimate_over_seeds,
    format_spread,
    keep_runs,
    means,
    plot_over_epochs,
    put_between_markers,
    read_runs,
    write_tables,
)
from studies.evidence.collect import KEPT as EVIDENCE
from studies.evidence.collect import evidence_recipes

KEPT = Path(__file__).parent
PAGE, README = PAGES / "self-paced.md", PAGES.parents[1] / "README.md"
STUDIES = ("self-paced", "pacing-rules")
FORMER_PACES = ("paced-accuracy-line", "paced-held-out-gap")  # up to commit 45846a8
OTHER_ARMS = (*FORMER_PACES, *OTHER_PACES)
ARMS = (HARD, MILD, FAR, PACED)
GOALS = {ERROR: 1.0, ECE: 0.33, HIDDEN[1]: 1.15}  # of the ratio to hard
HEADLINE = {ERROR: 0.96}  # in one setting


class Setting(NamedTuple):
    """Data, network and budget in which the arms are compared."""

    data: str
    model: str
    epochs: int

    def recipe(self, arm: str) -> str:
        """Return the name of the arm's recipe."""
        return budget_name(self.data, self.epochs, arm, self.model)

    def __str__(self) -> str:
        return f"{DATA[self.data]}, {self.model}, {self.epochs} epochs"


SETTINGS = (
    *(Setting(data, MODEL, epochs) for data in ("cifar10", "cifar100") for epochs in EPOCHS),
    *(
        Setting(data, DEEPER, epochs)
        for data in ("cifar10", "cifar100")
        for epochs in DEEPER_EPOCHS
    ),
    Setting(UNSEEN, MODEL, MIDDLE),
)
HEADLINE_SETTING = Setting("cifar10", MODEL, MIDDLE)


def collect(runs: Path) -> None:
    """Keep every run of the studies, those that the evidence has too beside the evidence's."""
    shared = set(evidence_recipes())
    ours = {name for study in find_tables(STUDIES) for name in study.recipes}
    keep_runs(runs, ours - shared, KEPT / "runs")
    keep_runs(runs, ours & shared, EVIDENCE / "runs")


def make_goals(values: Values) -> str:
    """Make a table of paced over hard, for each measure that has a goal."""
    lines = [["setting", "n", *(f"{measure.head}: paced / hard" for measure in GOALS)]]
    settings = finished_settings(values)
    for setting in settings:
        goals = GOALS | HEADLINE if setting == HEADLINE_SETTING else GOALS
        cells = [
            _against_goal(find_ratio(values, setting, measure), measure, goal)
            for measure, goal in goals.items()
        ]
        lines.append([str(setting), str(len(common_seeds(values, setting))), *cells])
    if len(settings) > 1:
        overall = [_over_settings(values, measure) for measure in GOALS]
        lines.append(["geometric mean [range]", f"{len(settings)} settings", *overall])
    return as_table(lines)


def _over_settings(values: Values, measure: Measure) -> str:
    """Return the mean ratio, the least and the greatest."""
    ratios = [find_ratio(values, setting, measure) for setting in finished_settings(values)]
    return f"{geometric_mean(ratios):.3f} [{min(ratios):.3f}, {max(ratios):.3f}]"


def _against_goal(found: float, measure: Measure, goal: float) -> str:
    met = found >= goal if measure.higher_is_better else found <= goal
    sign = "≥" if measure.higher_is_better else "≤"
    return f"**{found:.3f}**" if met else f"{found:.3f}, goal {sign} {goal:g}"


def find_ratio(values: Values, setting: Setting, measure: Measure) -> float:
    """Return paced over hard, of the means over common seeds."""
    ours, hard = (by_seed(values, setting.recipe(arm), measure.key) for arm in (PACED, HARD))
    common = common_seeds(values, setting)
    return sum(ours[seed] for seed in common) / sum(hard[seed] for seed in common)


def common_seeds(values: Values, setting: Setting, other: str = HARD) -> set[int]:
    """Return the seeds for which paced and another arm both have a run."""
    ours, others = (set(values.get(setting.recipe(arm), ())) for arm in (PACED, other))
    return ours & others


def finished_settings(values: Values) -> list[Setting]:
    """Return the settings that can be judged by now."""
    return [setting for setting in SETTINGS if common_seeds(values, setting)]


def with_runs(values: Values, named: dict[str, str]) -> dict[str, str]:
    """Return those recipes that were run by now."""
    return {words: name for words, name in named.items() if name in values}


def all_arms(values: Values) -> dict[str, str]:
    """Return the recipe of every arm of every setting."""
    settings = finished_settings(values)
    return with_runs(values, {f"{one}: {arm}": one.recipe(arm) for one in settings for arm in ARMS})


def pairs_with(values: Values, other: str) -> dict[str, tuple[str, str]]:
    """Return paced and another arm in each setting that has both."""
    return {
        str(one): (one.recipe(PACED), one.recipe(other))
        for one in SETTINGS
        if common_seeds(values, one, other)
    }


def rule_arms(values: Values) -> dict[str, str]:
    """Return every way to pace, in the one setting that has them all."""
    arms = (HARD, PACED, *OTHER_ARMS)
    return with_runs(values, {arm: HEADLINE_SETTING.recipe(arm) for arm in arms})


def make_headline(values: Values) -> str:
    """Make the README's table: three arms, and the verdict on paced against hard."""
    names = {"hard crop": HARD, "soft, sigma 0.1": MILD, "self-paced": PACED}
    recipes = [HEADLINE_SETTING.recipe(arm) for arm in names.values()]
    lines = [["", *names, "self-paced is"]]
    for measure in (ERROR, NLL, ECE, *HIDDEN[:3]):
        found = [estimate_over_seeds(values, name, measure) for name in recipes]
        hard, _, paced = (by_seed(values, name, measure.key) for name in recipes)
        difference = paired_difference(paced, hard)
        word = verdict(difference, higher_is_better=measure.higher_is_better).word
        lines.append([measure.title, *(format_spread(one, measure) for one in found), word])
    return as_table(lines)


def plot(values: Values, data: str) -> None:
    """Draw a row of charts for each network: measures over epochs."""
    models = {MODEL: EPOCHS, DEEPER: DEEPER_EPOCHS}
    figure = plt.figure(figsize=(12, 3.2 * len(models) + 0.4), layout="constrained")
    for part, (model, epochs) in zip(figure.subfigures(len(models)), models.items(), strict=True):
        part.suptitle(f"{DATA[data]}, 5,000 images, {model}")
        arms = {arm: {e: Setting(data, model, e).recipe(arm) for e in epochs} for arm in ARMS}
        every = part.subplots(1, 4)
        for axes, measure in zip(every, (ERROR, NLL, ECE, HIDDEN[1]), strict=True):
            plot_over_epochs(axes, values, measure, arms)
    figure.legend(
        *every[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(ARMS)
    )
    figure.savefig(IMAGES / f"self-paced-{data}.png", dpi=150)


def main() -> None:
    """Collect, then write tables and charts."""
    if sys.argv[1:]:
        collect(Path(sys.argv[1]) / "runs")
    values = read_runs(EVIDENCE / "runs", KEPT / "runs")
    rules, goals = rule_arms(values), make_goals(values)
    put_between_markers(make_headline(values), README, "headline")
    put_between_markers(goals, PAGE, "goals")
    default = HEADLINE_SETTING.recipe(PACED)
    others = {arm: (name, default) for arm, name in rules.items() if arm in OTHER_ARMS}
    against = {"the hard crop": HARD, "sigma 0.1, k 1": MILD, "the paper's sigma 0.3, k 2": FAR}
    full = {"Paced over hard": goals, "All arms": means(values, all_arms(values))}
    for words, arm in against.items():
        table = differences(values, pairs_with(values, arm), ALL_MEASURES)
        full[f"Paced minus {words}"] = table
    full["Rules of pacing"] = means(values, rules)
    full["Rules minus the default"] = differences(values, others, ALL_MEASURES)
    write_tables(KEPT / "tables.md", "Self-paced: all measures", full)
    for data in ("cifar10", "cifar100"):
        plot(values, data)


if __name__ == "__main__":
    main()
