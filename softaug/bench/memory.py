"""Suite "memory": peak memory of the losses, exact and repeatable."""

from collections.abc import Callable

from torch.profiler import ProfilerActivity, profile

from softaug.bench.loss_variants import DENSE, OURS, loss_variants
from softaug.bench.table import Bound, Row, Table
from softaug.bench.timing import Spread
from softaug.files import silent_stderr


def memory_suite(rounds: int, shape: tuple[int, int] = (256, 1000)) -> list[Table]:
    """Peak of what forward and backward allocate; one round is enough, it never varies."""
    del rounds
    logits = 4 * shape[0] * shape[1]  # float32
    # Made anew for each, so that no gradient of the last is freed in the record of the next.
    peaks = {name: peak_bytes(loss_variants(*shape)[name]) for name in loss_variants(*shape)}
    rows = [_row(name, peak, logits) for name, peak in peaks.items()]
    bounds = [Bound("SoftLoss / dense target", peaks[OURS] / peaks[DENSE], 1.0)]
    title = f"Loss, peak memory above the logits {list(shape)}, gradient included"
    return [Table(title, "the logits", "MB", rows, bounds)]


def _row(name: str, peak: int, logits: int) -> Row:
    return Row(name, Spread(peak / logits, peak / logits, peak / logits), peak / 1e6)


def peak_bytes(call: Callable[[], object]) -> int:
    """The most that `call` holds at once, from the allocator's own record of each block."""
    with (
        silent_stderr(),  # its C++ part reports there that it started and found no GPU
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record,
    ):
        call()
    assert record.profiler is not None
    events = record.profiler.kineto_results.events()
    blocks = sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns())
    live = peak = 0
    for block in blocks:
        live += block.nbytes()
        peak = max(peak, live)
    return peak
