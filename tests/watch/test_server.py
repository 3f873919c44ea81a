import json
import threading
from urllib.parse import urlencode

import pytest
from hand_made import Client, add_rows, entry, grid, row, serving, table, write

from softaug.watch import glance


@pytest.fixture(autouse=True)
def look_each_time(monkeypatch):
    monkeypatch.setattr(glance, "SECONDS", 0)
    monkeypatch.setattr(glance, "SHARE", 0)


def test_the_state_is_served_and_follows_the_folder(client, tmp_path):
    assert client.json("/state.json")["runs"] == []
    write(grid(entry("a-seed0")), tmp_path / "grid.json")
    assert client.json("/state.json")["runs"][0]["state"] == "waiting"
    add_rows(tmp_path / "runs/a-seed0", row(1, test_error=0.5))
    run = client.json("/state.json")["runs"][0]
    assert (run["state"], run["epoch"], run["so_far"]) == ("begun", 1, 0.5)


def test_what_has_not_changed_is_not_sent_again(client, tmp_path):
    write(grid(entry("a-seed0")), tmp_path / "grid.json")
    first, _ = client.get("/state.json")
    tag = first.headers["ETag"]
    again, content = client.get("/state.json", If_None_Match=tag)
    assert (again.status, content, again.headers["ETag"]) == (304, b"", tag)
    add_rows(tmp_path / "runs/a-seed0", row(1))
    assert client.get("/state.json", If_None_Match=tag)[0].status == 200


def test_a_page_gets_only_what_it_lacks_of_a_curve(client, tmp_path):
    name = "a, b&c=<d>-seed0"  # what a folder may be called
    write(grid(entry(name)), tmp_path / "grid.json")
    add_rows(tmp_path / f"runs/{name}", row(1), row(2))
    life = client.json("/state.json")["runs"][0]["life"]
    wanted = urlencode([("want", f"1,{life},runs/{name}"), ("want", "0,,runs/other")])
    (found,) = client.json(f"/curves.json?{wanted}")["curves"]
    assert (found["key"], found["after"], found["epochs"]) == (f"runs/{name}", 1, [2])


@pytest.mark.parametrize(
    "query",
    ["", "want=", "want=x,y,z", "want=-1,,runs/a", "want=%ff,,", "&&=", f"want={'9' * 5000},,a"],
)
def test_a_wrong_question_about_curves_gets_none(client, query):
    assert client.json(f"/curves.json?{query}") == {"curves": []}


def test_a_table_and_its_own_page_are_served(client, tmp_path):
    assert client.get("/exhibit.json?name=table1")[0].status == 404
    write(table(20.0), tmp_path / "table1.json")
    (tmp_path / "table1.html").write_text("<p>by itself</p>")
    assert client.json("/exhibit.json?name=table1")["title"] == "Errors"
    page, content = client.get("/exhibit.html?name=table1")
    assert content == b"<p>by itself</p>"
    assert "sandbox" in page.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/grid.json",
        "/../secret",
        "/%2e%2e/secret",
        "/exhibit.html?name=../secret",
        "//evil/",
        "//[",
        "/x",
    ],
)
def test_nothing_else_is_served(client, tmp_path, path):
    write({}, tmp_path / "grid.json")
    (tmp_path.parent / "secret").write_text("secret")
    assert client.get(path)[0].status == 404


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9000", "LOCALHOST", "[::1]:80"])
def test_this_machine_is_answered_under_its_own_names(client, host):
    assert client.get("/state.json", Host=host)[0].status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "x@127.0.0.1", "192.168.0.1", ""],
)
def test_a_name_that_was_bent_to_this_machine_is_refused(client, host):
    refused, content = client.get("/state.json", Host=host)
    assert refused.status == 403
    assert b"the Host must be 127.0.0.1 or localhost" in content


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_reading_is_possible(client, method):
    assert client.get("/state.json", method=method)[0].status == 501


def test_a_head_has_no_body(client):
    head, content = client.get("/", method="HEAD")
    assert (head.status, content) == (200, b"")
    assert int(head.headers["Content-Length"]) > 1000


def test_other_sites_may_neither_read_nor_frame_it(client):
    for path in ("/", "/state.json"):
        headers = client.get(path)[0].headers
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers


def test_it_listens_on_loopback_alone(tmp_path):
    with serving(tmp_path) as server:
        assert server.server_address[0] == "127.0.0.1"
        assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_many_pages_at_once_cost_one_look(tmp_path, monkeypatch):
    monkeypatch.setattr(glance, "SECONDS", 60)
    write(grid(*(entry(f"a-seed{seed}") for seed in range(300))), tmp_path / "grid.json")
    looks, answers = [], []
    with serving(tmp_path) as server:
        folder = server.glance._folder
        plain = folder.look
        monkeypatch.setattr(folder, "look", lambda: looks.append(1) or plain())
        ask = lambda: answers.append(Client(server.server_port).get("/state.json")[1])  # noqa: E731
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(looks) == 1
    assert len(set(answers)) == 1
    assert len(json.loads(answers[0])["runs"]) == 300


def test_watching_leaves_no_trace(client, tmp_path):
    write(grid(entry("a-seed0"), entry("b-seed0")), tmp_path / "grid.json")
    add_rows(tmp_path / "runs/a-seed0", row(1))
    (tmp_path / "runs/a-seed0/.lock").touch()
    (tmp_path / "runs/a-seed0/.grid-lock").touch()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for path in (
        "/",
        "/state.json",
        "/curves.json?want=0,,runs/a-seed0",
        "/exhibit.json?name=table1",
    ):
        client.get(path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
