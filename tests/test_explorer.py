"""The explorer's numbers, read from the page in a real browser, are the library's."""

import html
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from softaug import confidence, retained
from softaug.transforms import SoftCrop

FOLDER = Path(__file__).parents[1] / "docs" / "explorer"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
SIZE = 256  # of its photograph
DRIVER = """
const read = (name) => Number(document.querySelector(`[data-name="${name}"]`).textContent);
const rows = SETTINGS.map((settings) => {
  for (const [name, value] of Object.entries(settings)) {
    const slider = document.querySelector(`[data-name="${name}"]`);
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
  }
  const cards = document.querySelectorAll("figcaption").length;
  return { cards, ...Object.fromEntries(NAMES.map((name) => [name, read(name)])) };
});
const result = document.createElement("pre");
result.id = "result";
result.textContent = JSON.stringify(rows);
document.body.append(result);
"""
NAMES = ("visible", "retained", "confidence", "other")


def random_settings(num):
    rng = random.Random(0)
    return [
        {
            "dx": rng.randint(-SIZE + 1, SIZE - 1),
            "dy": rng.randint(-SIZE + 1, SIZE - 1),
            "k": rng.randint(5, 50) / 10,
            "classes": rng.randint(2, 1000),
            "sigma": rng.randint(1, 60) / 100,
        }
        for _ in range(num)
    ]


def read_page(settings, folder):
    """Move the page's sliders to each of the settings; return the numbers it shows."""
    shutil.copytree(FOLDER, folder / "page")
    driver = DRIVER.replace("SETTINGS", json.dumps(settings)).replace("NAMES", json.dumps(NAMES))
    body = (FOLDER / "index.md").read_text()
    tags = "".join(re.findall(r"^<(?:div|script).*$", body, re.MULTILINE))
    page = folder / "page" / "index.html"
    page.write_text(f"<!doctype html><body>{tags}<script>{driver}</script></body>")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command = [CHROMIUM, *flags, f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_page_shows_the_numbers_of_the_library(tmp_path):
    settings = random_settings(50)
    shown = read_page(settings, tmp_path)
    image = torch.zeros(3, SIZE, SIZE)
    for one, row in zip(settings, shown, strict=True):
        crop = SoftCrop(k=one["k"])
        params = crop.draw(image)
        left = (SIZE - abs(one["dx"])) * (SIZE - abs(one["dy"])) / SIZE**2
        params = params._replace(
            dx=torch.tensor([one["dx"]]), dy=torch.tensor([one["dy"]]), visible=torch.tensor([left])
        )
        seen = crop.apply(torch.ones(3, SIZE, SIZE), params).mean()
        kept = retained(params.visible, one["k"])
        sure = confidence(kept, one["classes"])
        expected = {
            "visible": float(seen),
            "retained": float(kept),
            "confidence": float(sure),
            "other": float((1 - kept) / one["classes"]),
        }
        assert {name: row[name] for name in NAMES} == pytest.approx(expected, abs=6e-5)
        assert float(crop.report(0, params).retained) == pytest.approx(row["retained"], abs=6e-5)
        assert row["cards"] == 12
