r"""Tables and figures as LaTeX: floats to \input; they need booktabs and graphicx."""

import unicodedata
from collections.abc import Sequence

from softaug.lab.report.model import WIDE, Cell, Figure, Row, Table, one_line

_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: "\\" + sign for sign in "{}$&#_%"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "–": "--",
    "—": "---",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "λ": r"$\lambda$",
    "σ": r"$\sigma$",
    "ᵏ": "$^k$",
}
_LAST_ACCENTED = "\u017f"  # of the Latin letters that every LaTeX knows


def render_table(table: Table, caption: str, remarks: Sequence[str]) -> str:
    """Return a table float with caption, label and notes; `remarks` stand below it."""
    marked = [rf"\textsuperscript{{{mark}}} {escape(why)}" for mark, why in table.notes]
    heads = [rf"\multicolumn{{1}}{{c}}{{{escape(column.title)}}}" for column in table.columns[1:]]
    below = " ".join([*map(escape, remarks), *marked, escape(table.caption)])
    parts = [
        f"% {table.title}; needs \\usepackage{{booktabs}}",
        r"\begin{table*}[tp]",
        r"\centering\footnotesize\setlength{\tabcolsep}{4.5pt}",
        _caption(caption, table.name) + r"\par\smallskip",
        rf"\begin{{tabular}}{{@{{}}l{'r' * (len(table.columns) - 1)}@{{}}}}",
        r"\toprule",
        " & ".join(["", *heads]) + r" \\",
        *(line for group in table.groups.items() for line in _group(*group, len(table.columns))),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize {below}}}",
        r"\end{table*}",
    ]
    return "\n".join(parts) + "\n"


def render_figure(name: str, caption: str, figure: Figure | None) -> str:
    """Return a figure float that shows NAME.pdf, over both columns where it is wide.

    Before there is something drawn, it says so.
    """
    kind = "figure*" if figure is not None and figure.width == WIDE else "figure"
    picture = rf"\includegraphics[width=\linewidth]{{{name}.pdf}}"
    parts = [
        f"% {name}; needs \\usepackage{{graphicx}}",
        rf"\begin{{{kind}}}[tp]",
        r"\centering",
        picture if figure is not None else r"\emph{Nothing to be shown yet.}",
        _caption(caption, name),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(parts) + "\n"


def _caption(text: str, name: str) -> str:
    return rf"\caption{{{escape(text)}}}\label{{softaug:{name}}}"


def _group(heading: str, rows: Sequence[Row], num_columns: int) -> list[str]:
    lines = [" & ".join(map(_cell, row)) + r" \\" for row in rows]
    if not heading:
        return [r"\midrule", *lines]
    words = rf"{{@{{}}l}}{{\textbf{{{escape(heading)}}}}} \\"
    return [r"\midrule", rf"\multicolumn{{{num_columns}}}{words}", *lines]


def _cell(cell: Cell) -> str:
    text = rf"\textbf{{{escape(cell.text)}}}" if cell.best else escape(cell.text)
    text += rf" \emph{{({escape(cell.source)})}}" if cell.source else ""
    return text + (rf"\textsuperscript{{{cell.note}}}" if cell.note else "")


def escape(text: str) -> str:
    r"""Write text that LaTeX prints as it is; what its default fonts lack becomes "?".

    >>> print(escape("50 % of A_1 & −0.3 ± 0.1"))
    50 \% of A\_1 \& $-$0.3 $\pm$ 0.1
    """
    return "".join(_SIGNS.get(c, c if _is_known(c) else "?") for c in one_line(text))


def _is_known(letter: str) -> bool:
    """Whether it is ASCII, or an ASCII letter with an accent."""
    accented = unicodedata.normalize("NFD", letter)[0].isascii() and letter <= _LAST_ACCENTED
    return letter.isascii() or accented
