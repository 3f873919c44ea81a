"""Suite "training", part b: our loop beside a loop in the usual style, with one network."""

from functools import partial

from softaug.bench.table import Bound, Row, Table
from softaug.bench.timing import Timing, one_thread
from softaug.bench.training_data import soft_recipe, training_data
from softaug.bench.training_ours import OurLoop
from softaug.bench.training_plain import PlainCifar, PlainLoop
from softaug.bench.training_turns import Cost, Turns, take_turns, timed
from softaug.data.images import Images

OURS = "softaug"
PLAIN = "plain loop"
LAYOUT = "plain loop, channels_last"
WORKER = "plain loop, channels_last, a loader worker on a second core (wall time)"
NOTES = [
    "ratio: time per image. CPU time, one thread; the row with a loader worker is wall time "
    "against softaug's wall time, two cores against one.",
]


def rates_table(
    model: str, images: Images, batch: int, rounds: int, steps: int, least: float
) -> Table:
    """Time per image; the plain loop must take `least` times ours or more."""
    turns = _measure(model, images, batch, rounds, steps)
    title = f"Training {model}, batch {batch}"
    return Table(title, OURS, "images/s", _rows(turns, batch), [rate_bound(turns, least)], NOTES)


def rate_bound(turns: Turns, least: float) -> Bound:
    """What our loop must reach."""
    return Bound(f"{PLAIN} / {OURS}", turns.cpu.ratio(PLAIN, OURS).median, least, at_least=True)


def _measure(model: str, images: Images, batch: int, rounds: int, steps: int) -> Turns:
    recipe, plain_data = soft_recipe(model, batch), PlainCifar(images)
    ours = OurLoop(recipe, training_data(images))
    plain = PlainLoop(recipe, plain_data)
    layout = PlainLoop(recipe, plain_data, channels_last=True)
    worker = PlainLoop(recipe, plain_data, channels_last=True, workers=1)
    with one_thread():
        for loop in (ours, plain, layout, worker):  # the first step pays for caches
            loop.step()
    worker.restart()
    stretches = {
        OURS: partial(timed, ours.step, steps),
        PLAIN: partial(timed, plain.step, steps),
        LAYOUT: partial(timed, layout.step, steps),
        WORKER: partial(_with_worker, worker, steps),
    }
    return take_turns(stretches, rounds)


def _with_worker(loop: PlainLoop, steps: int) -> Cost:
    """The worker starts and loads ahead before the timing, and is gone after it."""
    loop.step()
    cost = timed(loop.step, steps)
    loop.restart()
    return cost


def _rows(turns: Turns, batch: int) -> list[Row]:
    return [
        *(_row(turns.cpu, name, batch) for name in (OURS, PLAIN, LAYOUT)),
        _row(turns.wall, WORKER, batch),
    ]


def _row(timing: Timing, name: str, batch: int) -> Row:
    return Row(name, timing.ratio(name, OURS), batch / timing.median(name))
