from pathlib import Path

from softaug.lab.data.releases import data_folder


def test_the_argument_goes_before_the_variable_and_that_before_the_cache(monkeypatch):
    monkeypatch.setenv("SOFTAUG_DATA", "/variable")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert data_folder("/argument") == Path("/argument")
    assert data_folder() == Path("/variable")
    monkeypatch.setenv("SOFTAUG_DATA", "")
    assert data_folder() == Path("/cache/softaug/data")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "softaug" / "data"


def test_a_tilde_is_the_home_folder():
    assert data_folder("~/sets") == Path.home() / "sets"
