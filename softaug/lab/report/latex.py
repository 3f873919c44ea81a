r"""Tables and figures as LaTeX: floats to \input; they need booktabs and graphicx."""

import unicodedata
from collections.abc import Sequence

from softaug.lab.report.model import Cell, Column, RowGroup, Table, one_line

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
    below = " ".join([*map(escape, remarks), *marked, escape(table.caption)])
    parts = [
        f"% {table.title}; needs \\usepackage{{booktabs}}",
        r"\begin{table*}[tp]",
        r"\centering\footnotesize\setlength{\tabcolsep}{4.5pt}",
        _caption(caption, table.name) + r"\par\smallskip",
        rf"\begin{{tabular}}{{@{{}}l{'r' * (len(table.columns) - 1)}@{{}}}}",
        r"\toprule",
        *_heads(table.columns),
        *(row for group in table.groups for row in _group(group, len(table.columns))),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize {below}}}",
        r"\end{table*}",
    ]
    return "\n".join(parts) + "\n"


def render_figure(name: str, caption: str, *, wide: bool, drawn: bool = True) -> str:
    """Return a figure float that shows NAME.pdf, over both columns where it is `wide`.

    Before there is something `drawn`, it says so.
    """
    kind = "figure*" if wide else "figure"
    picture = rf"\includegraphics[width=\linewidth]{{{name}.pdf}}"
    parts = [
        f"% {name}; needs \\usepackage{{graphicx}}",
        rf"\begin{{{kind}}}[tp]",
        r"\centering",
        picture if drawn else r"\emph{Nothing to be shown yet.}",
        _caption(caption, name),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(parts) + "\n"


def _caption(text: str, name: str) -> str:
    return rf"\caption{{{escape(text)}}}\label{{softaug:{name}}}"


def _heads(columns: Sequence[Column]) -> list[str]:
    """Write a line; above it another where the last two columns share a heading."""
    heads = [rf"\multicolumn{{1}}{{c}}{{{escape(column.head)}}}" for column in columns[1:]]
    line = " & ".join(["", *heads]) + r" \\"
    shared = columns[-1].under
    if not shared:
        return [line]
    over = rf"\multicolumn{{2}}{{c@{{}}}}{{{escape(shared)}}} \\"
    rule = rf"\cmidrule(l){{{len(columns) - 1}-{len(columns)}}}"
    return [" & " * (len(columns) - 2) + over, rule, line]


def _group(group: RowGroup, num_columns: int) -> list[str]:
    rows = [" & ".join(map(_cell, row)) + r" \\" for row in group.rows]
    if not group.heading:
        return [r"\midrule", *rows]
    words = rf"{{@{{}}l}}{{\textbf{{{escape(group.heading)}}}}} \\"
    return [r"\midrule", rf"\multicolumn{{{num_columns}}}{words}", *rows]


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
