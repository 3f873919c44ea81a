import io

from rich.console import Console

from softaug.lab.progress import progress


def shown(*, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100)
    with progress(console, 100, "images") as show:
        show(0, "0 of 2 runs")
        show(20, "0 of 2 runs")
        show(50, "1 of 2 runs")
        show(100, "2 of 2 runs")
    return out.getvalue()


def test_without_a_terminal_each_new_note_is_a_plain_line() -> None:
    lines = shown(terminal=False).splitlines()
    assert len(lines) == 3
    assert lines[0] == "0 of 2 runs"
    assert "images/s" in lines[1]
    assert lines[2].endswith(" 0 s left")


def test_in_a_terminal_a_bar_shows_rate_and_time_left() -> None:
    text = shown(terminal=True)
    assert "2 of 2 runs" in text
    assert "images/s" in text
    assert "left" in text
