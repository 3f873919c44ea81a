"""Keep the numbers of every finished run, and put the tables and plots into docs/self-paced.md.

    python docs/collect_self_paced.py softaug-reproduce/cpu

Without a folder they are made again from docs/results. Runs of recipes that docs/evidence.md has
too lie in docs/results/evidence/runs: run docs/collect_evidence.py, too, if there are new ones.
"""

import sys
from pathlib import Path
from statistics import geometric_mean
from typing import NamedTuple

import matplotlib.pyplot as plt
from collect_evidence import KEPT as EVIDENCE
from collect_evidence import evidence_recipes
from collect_runs import put_between_markers
from kept_runs import (
    ECE,
    ERROR,
    HIDDEN,
    NLL,
    SHOWN,
    Measure,
    Values,
    as_table,
    by_seed,
    differences,
    draw_over_epochs,
    keep,
    means,
    read,
)

from softaug.lab.recipes.budgets import (
    DEEPER,
    DEEPER_EPOCHS,
    EPOCHS,
    MIDDLE,
    MODEL,
    OTHER_PACES,
    PACED,
    UNSEEN,
    budget_name,
)
from softaug.lab.recipes.paper_figures import DATA, FAR, HARD, MILD, find_tables

DOCS = Path(__file__).parent
PAGE, KEPT = DOCS / "self-paced.md", DOCS / "results" / "self-paced" / "runs"
STUDIES = ("self-paced", "pacing-rules")
ARMS = (HARD, MILD, FAR, PACED)
GOALS = {ERROR: 1.0, ECE: 0.33, HIDDEN[1]: 1.15}  # of the ratio to hard
HEADLINE = {ERROR: 0.96}  # in one setting


class Setting(NamedTuple):
    """Where the arms are compared."""

    data: str
    model: str
    epochs: int

    def recipe(self, arm: str) -> str:
        """What the arm's row is called."""
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
    keep(runs, ours - shared, KEPT)
    keep(runs, ours & shared, EVIDENCE / "runs")


def goals(values: Values) -> str:
    """Paced over hard, of each measure that has a goal."""
    heads = [f"{measure.head}: paced / hard" for measure in GOALS]
    lines = [["setting", "n", *heads]]
    for setting in there(values):
        asked = GOALS | HEADLINE if setting == HEADLINE_SETTING else GOALS
        cells = [_against_goal(ratio(values, setting, m), m, goal) for m, goal in asked.items()]
        lines.append([str(setting), str(len(seeds(values, setting))), *cells])
    if len(there(values)) > 1:
        overall = [_over_settings(values, measure) for measure in GOALS]
        lines.append(["geometric mean [range]", f"{len(there(values))} settings", *overall])
    return as_table(lines)


def _over_settings(values: Values, measure: Measure) -> str:
    """The mean ratio, the least and the greatest."""
    ratios = [ratio(values, setting, measure) for setting in there(values)]
    return f"{geometric_mean(ratios):.3f} [{min(ratios):.3f}, {max(ratios):.3f}]"


def _against_goal(found: float, measure: Measure, goal: float) -> str:
    met = found >= goal if measure.higher_is_better else found <= goal
    sign = "≥" if measure.higher_is_better else "≤"
    return f"**{found:.3f}**" if met else f"{found:.3f}, goal {sign} {goal:g}"


def ratio(values: Values, setting: Setting, measure: Measure) -> float:
    """Of the means over common seeds."""
    ours, hard = (by_seed(values, setting.recipe(arm), measure.key) for arm in (PACED, HARD))
    common = seeds(values, setting)
    return sum(ours[seed] for seed in common) / sum(hard[seed] for seed in common)


def seeds(values: Values, setting: Setting, other: str = HARD) -> set[int]:
    """For which paced and another arm both have a run."""
    ours, others = (set(values.get(setting.recipe(arm), ())) for arm in (PACED, other))
    return ours & others


def there(values: Values) -> list[Setting]:
    """Settings that can be judged by now."""
    return [setting for setting in SETTINGS if seeds(values, setting)]


def arms(values: Values) -> str:
    """Every arm of every setting."""
    named = {f"{one}: {arm}": one.recipe(arm) for one in there(values) for arm in ARMS}
    return means(values, with_runs(values, named))


def with_runs(values: Values, named: dict[str, str]) -> dict[str, str]:
    """Those recipes that were run by now."""
    return {words: name for words, name in named.items() if name in values}


def against(values: Values, other: str) -> str:
    """Paced minus another arm, paired by seed."""
    pairs = {
        str(one): (one.recipe(PACED), one.recipe(other))
        for one in SETTINGS
        if seeds(values, one, other)
    }
    return differences(values, pairs, SHOWN)


def rules(values: Values) -> str:
    """Every way to pace, in the one setting that has them all."""
    named = {arm: HEADLINE_SETTING.recipe(arm) for arm in (HARD, PACED, *OTHER_PACES)}
    return means(values, with_runs(values, named))


def rules_against(values: Values) -> str:
    """Other ways to pace minus the default, paired by seed."""
    default = HEADLINE_SETTING.recipe(PACED)
    named = {arm: HEADLINE_SETTING.recipe(arm) for arm in OTHER_PACES}
    pairs = {arm: (name, default) for arm, name in with_runs(values, named).items()}
    return differences(values, pairs, SHOWN)


def plot(values: Values, data: str) -> None:
    """A chart for each network, in a row, and measure over the budget."""
    models = {MODEL: EPOCHS, DEEPER: DEEPER_EPOCHS}
    figure = plt.figure(figsize=(12, 3.2 * len(models) + 0.4), layout="constrained")
    for part, (model, epochs) in zip(figure.subfigures(len(models)), models.items(), strict=True):
        part.suptitle(f"{DATA[data]}, 5,000 images, {model}")
        arms = {arm: {e: Setting(data, model, e).recipe(arm) for e in epochs} for arm in ARMS}
        every = part.subplots(1, 4)
        for axes, measure in zip(every, (ERROR, NLL, ECE, HIDDEN[1]), strict=True):
            draw_over_epochs(axes, values, measure, arms)
    figure.legend(
        *every[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(ARMS)
    )
    figure.savefig(DOCS / f"self-paced-{data}.png", dpi=150)


def main() -> None:
    """Collect, then write tables and plots."""
    if sys.argv[1:]:
        collect(Path(sys.argv[1]) / "runs")
    values = read(EVIDENCE / "runs", KEPT)
    put_between_markers(goals(values), PAGE, "goals")
    put_between_markers(against(values, HARD), PAGE, "against-hard")
    put_between_markers(against(values, MILD), PAGE, "against-fixed")
    put_between_markers(against(values, FAR), PAGE, "against-paper")
    put_between_markers(arms(values), PAGE, "arms")
    put_between_markers(rules(values), PAGE, "rules")
    put_between_markers(rules_against(values), PAGE, "rules-against")
    for data in ("cifar10", "cifar100"):
        plot(values, data)


if __name__ == "__main__":
    main()
