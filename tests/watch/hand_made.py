"""Folders of runs written by hand, and a server that watches one."""

import http.client
import json
import threading
from contextlib import contextmanager

from softaug.watch.command import open_server


def row(epoch, **more):
    """A line of metrics.jsonl; an epoch takes 2 seconds."""
    known = {"step": 10 * epoch, "epoch": epoch, "train_loss": 2.0 / epoch, "seconds": 2.0 * epoch}
    return known | more


def add_rows(folder, *rows):
    """Go on with the metrics.jsonl of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in rows)


def write(value, path):
    """Write a JSON file, with the folders it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def entry(name, **more):
    """A run of grid.json."""
    return {
        "name": name,
        "recipe": name.partition("-seed")[0],
        "data": "digits",
        "model": "resnet8",
        "seed": 0,
        "members": 1,
        "exhibits": ["table1"],
        "folder": f"runs/{name}",
        "epochs": 4,
        "cost": "about 5 seconds",
        "no_data": None,
    } | more


def grid(*runs):
    return {"schema": 1, "scale": "smoke", "exhibits": ["table1"], "seeds": [0], "runs": list(runs)}


def recipe(name):
    return {"name": name, "model": "resnet8", "data": {"name": "digits"}, "seed": 0, "epochs": 4}


@contextmanager
def serving(folder, port=0):
    server = open_server(folder, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Client:
    """Asks a server as a browser would."""

    def __init__(self, port):
        self.port = port

    def get(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=named)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    def json(self, path):
        response, content = self.get(path)
        assert response.status == 200, content
        return json.loads(content)


def table(*values, complete=False, label="Soft Augmentation"):
    """A table1.json with one row, of which ours are `values`."""
    done = {"values": list(values), "mean": sum(values) / len(values), "se": None}
    ours = {**done, "n": len(values), "planned": 3}
    cell = {"measure": "error", "on": "", "paper": {"value": 18.31, "se": 0.17}, "ours": ours}
    cell |= {"state": "complete" if complete else "partial", "why": ""}
    row = {"group": "Digits", "label": label, "recipe": "a", "baseline": None, "quoted": None}
    known = {"schema": 1, "name": "table1", "title": "Errors", "scale": "smoke", "notes": []}
    return known | {"complete": complete, "environment": {}, "rows": [row | {"cells": [cell]}]}
