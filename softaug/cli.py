"""The `softaug` command."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

_NEEDS_LAB = "softaug: the command line needs the lab extra ({}); pip install 'softaug[lab]'"

try:
    import tyro
    from rich.console import Console

    from softaug.bench import run_bench
    from softaug.report import print_table, write_report
    from softaug.training.demo import DemoSettings, run_demo
except ImportError as missing:  # the core alone is installed
    sys.exit(_NEEDS_LAB.format(missing))


def demo(
    settings: Annotated[DemoSettings, tyro.conf.arg(name="")],
    out: Path = Path("softaug-demo"),
) -> None:
    """Compare hard and soft crops on real digits; writes a report that any browser shows.

    Args:
        settings: What to train; the defaults are what docs/method.md explains.
        out: Folder for results.json and report.html.
    """
    console = Console()
    results = run_demo(settings, out, console)
    print_table(results, console)
    console.print(f"Report: {write_report(results)}", soft_wrap=True, highlight=False)


def bench(
    suites: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    rounds: int = 25,
    out: Path | None = None,
    markdown: Path | None = None,
) -> None:
    """Measure speed and memory beside other libraries: one thread, ratios in one run.

    Args:
        suites: Which to run: crop, scaling, loss, memory, noise-erase; none means all.
        rounds: How often each variant is timed; all variants take turns in each round.
        out: File for the numbers, as JSON.
        markdown: Page whose tables are replaced, such as docs/performance.md.
    """
    run_bench(suites, rounds, out, markdown, Console())


def main() -> None:
    """Run a subcommand; bad input ends with one line and code 2, Ctrl-C with code 130."""
    commands: dict[str, Callable[..., None]] = {"demo": demo, "bench": bench}
    try:
        tyro.extras.subcommand_cli_from_dict(commands, prog="softaug", description=__doc__)
    except (ValueError, OSError) as refused:
        print(refused, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
