r"""An exhibit as LaTeX: a float to \input; needs booktabs for tables, graphicx for figures."""

import unicodedata
from collections.abc import Sequence

from softaug.lab.report.evaluation.drawing import one_line
from softaug.lab.report.exhibits.markdown import numbered
from softaug.lab.report.exhibits.shapes import Exhibit
from softaug.lab.report.exhibits.sheet import Column, Line, Section, Sheet, sheet

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


def latex_table(exhibit: Exhibit, mark: str) -> str:
    """A table float with caption, label and notes."""
    found = sheet(exhibit, mark)
    parts = [
        f"% {numbered(exhibit['name'])}; needs \\usepackage{{booktabs}}",
        r"\begin{table*}[tp]",
        r"\centering\footnotesize\setlength{\tabcolsep}{4.5pt}",
        _caption(exhibit) + r"\par\smallskip",
        rf"\begin{{tabular}}{{@{{}}l{'r' * len(found.columns)}@{{}}}}",
        r"\toprule",
        *_heads(found.columns),
        *(row for section in found.sections for row in _section(section, found)),
        r"\bottomrule",
        r"\end{tabular}",
        *_notes(found),
        r"\end{table*}",
    ]
    return "\n".join(parts) + "\n"


def latex_figure(exhibit: Exhibit, caption: str, *, wide: bool, drawn: bool = True) -> str:
    """A figure float that shows NAME.pdf, over both columns where it is `wide`.

    Before there is something `drawn`, it says so.
    """
    kind = "figure*" if wide else "figure"
    picture = rf"\includegraphics[width=\linewidth]{{{exhibit['name']}.pdf}}"
    parts = [
        f"% {numbered(exhibit['name'])}; needs \\usepackage{{graphicx}}",
        rf"\begin{{{kind}}}[tp]",
        r"\centering",
        picture if drawn else r"\emph{Nothing to be shown yet.}",
        _caption(exhibit, caption),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(parts) + "\n"


def _caption(exhibit: Exhibit, more: str = "") -> str:
    words = escape(f"{exhibit['title'].rstrip('.')}. {more}")
    return rf"\caption{{{words}}}\label{{softaug:{exhibit['name']}}}"


def _heads(columns: Sequence[Column]) -> list[str]:
    """A line; above it another where the last two columns share a heading."""
    heads = [rf"\multicolumn{{1}}{{c}}{{{escape(column.head)}}}" for column in columns]
    line = " & ".join(["", *heads]) + r" \\"
    shared = columns[-1].under
    if not shared:
        return [line]
    over = rf"\multicolumn{{2}}{{c@{{}}}}{{{escape(shared)}}} \\"
    rule = rf"\cmidrule(l){{{len(columns)}-{len(columns) + 1}}}"
    return [" & " * (len(columns) - 1) + over, rule, line]


def _section(section: Section, found: Sheet) -> list[str]:
    words = rf"{{@{{}}l}}{{\textbf{{{escape(section.heading)}}}}} \\"
    heading = rf"\multicolumn{{{len(found.heads)}}}{words}"
    return [r"\midrule", heading, *(_row(line, found) for line in section.lines)]


def _row(line: Line, found: Sheet) -> str:
    label = escape(line.label)
    if line.quoted:
        label = rf"{label} \emph{{({escape(line.quoted)})}}"
    cells = [
        escape(text) + (rf"\textsuperscript{{{mark}}}" if mark else "")
        for text, mark in found.cells(line)
    ]
    return " & ".join([label, *cells]) + r" \\"


def _notes(found: Sheet) -> list[str]:
    marked = [rf"\textsuperscript{{{mark}}} {escape(why)}" for mark, why in found.notes]
    words = [*map(escape, found.cautions), *marked, *map(escape, found.remarks)]
    return [rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize {' '.join(words)}}}"]


def escape(text: str) -> str:
    r"""Text that LaTeX prints as it is; what its default fonts lack becomes "?".

    >>> print(escape("50 % of A_1 & −0.3 ± 0.1"))
    50 \% of A\_1 \& $-$0.3 $\pm$ 0.1
    """
    return "".join(_SIGNS.get(c, c if _known(c) else "?") for c in one_line(text))


def _known(letter: str) -> bool:
    """ASCII, or an ASCII letter with an accent."""
    accented = unicodedata.normalize("NFD", letter)[0].isascii() and letter <= _LAST_ACCENTED
    return letter.isascii() or accented
