import re
from pathlib import Path

from softaug.watch.page import SCRIPTS, render

TEMPLATES = Path(render.__code__.co_filename).with_name("templates")


def test_the_page_is_one_file_that_asks_no_one_else(tmp_path):
    page = render(tmp_path).content.decode()
    assert "src=" not in page
    assert "url(" not in page
    assert "@import" not in page
    outside = set(re.findall(r"https?://[^\s\"'<)]+", page))
    assert outside == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "default-src 'none'" in page
    assert "connect-src 'self'" in page


def test_a_folder_may_be_called_anything(tmp_path):
    folder = tmp_path / "<img src=x onerror=alert(1)>{{ 7 * 7 }}"
    folder.mkdir()
    page = render(folder).content.decode()
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;{{ 7 * 7 }}" in page


def test_scripts_never_make_markup_of_text():
    for name in SCRIPTS:
        script = (TEMPLATES / name).read_text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script
        )
    assert {path.name for path in TEMPLATES.glob("*.js")} == set(SCRIPTS)
