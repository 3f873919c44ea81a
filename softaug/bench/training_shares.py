"""Suite "training", part d: where the time of a step goes."""

from softaug.bench.table import Row, Table
from softaug.bench.timing import one_thread, spread
from softaug.bench.training_data import soft_recipe, training_data
from softaug.bench.training_ours import OurLoop
from softaug.data.images import Images
from softaug.training.stopwatch import PHASES


def shares_table(model: str, images: Images, batch: int, rounds: int) -> Table:
    """The phases of our loop as shares of the step, one step a round."""
    seconds = measure_phases(model, images, batch, rounds)
    rows = [_row(phase, seconds) for phase in PHASES]
    return Table(f"Where the time goes, {model}, batch {batch}", "the step", "ms", rows)


def measure_phases(model: str, images: Images, batch: int, rounds: int) -> list[dict[str, float]]:
    """CPU seconds of each phase, for each round."""
    loop = OurLoop(soft_recipe(model, batch), training_data(images))
    found = []
    with one_thread():
        for _ in range(1 + rounds):
            loop.clock.seconds = dict.fromkeys(PHASES, 0.0)
            loop.step()
            found.append(loop.clock.seconds)
    return found[1:]  # the first pays for caches


def _row(phase: str, seconds: list[dict[str, float]]) -> Row:
    shares = spread([step[phase] / sum(step.values()) for step in seconds])
    return Row(phase, shares, 1000 * spread([step[phase] for step in seconds]).median)
