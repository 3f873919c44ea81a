"""A hook of mkdocs: files of the repository that pages link to become pages of the site.

Pages link to code and studies by relative paths, which work on GitHub. Text files outside
docs/ that are linked are added to the site under `repository/`, so that strict checking
holds for them too: a link to a missing file fails the build.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((\.\./[^)#\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Point links that leave docs/ to copies of the files on the site."""
    here = (Path(config["docs_dir"]) / page.file.src_uri).parent

    def replace(match: re.Match[str]) -> str:
        target = (here / match.group(1)).resolve()
        if target.is_relative_to(config["docs_dir"]):
            return match.group(0)
        depth = page.file.src_uri.count("/")
        return f"]({'../' * depth}repository/{target.relative_to(ROOT).as_posix()}.txt)"

    return LINK.sub(replace, markdown)


def on_files(files: Any, config: Any) -> Any:
    """Add every linked file outside docs/ to the site, as plain text."""
    docs = Path(config["docs_dir"])
    for page in sorted(docs.rglob("*.md")):
        for link, _ in LINK.findall(page.read_text()):
            target = (page.parent / link).resolve()
            if not target.exists():
                raise FileNotFoundError(f"{page} links to {target}, which does not exist")
            if not target.is_relative_to(docs) and target.is_file():
                name = f"repository/{target.relative_to(ROOT).as_posix()}.txt"
                if files.get_file_from_path(name) is None:
                    files.append(File.generated(config, name, content=target.read_text()))
    return files
