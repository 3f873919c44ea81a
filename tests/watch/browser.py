"""A real browser, steered through a pipe: Chromium's own protocol, no library."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-pipe",  # commands on descriptor 3, answers on 4, each ends with a 0 byte
]

LAUNCH = """import fcntl, os, sys
high = [fcntl.fcntl(int(pipe), fcntl.F_DUPFD, 10) for pipe in sys.argv[1:3]]
for pipe, place in zip(high, (3, 4)):
    os.dup2(pipe, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page at a time: scripts run in it, what its console says is kept in `told`."""

    def __init__(self, commands, answers):
        self._commands, self._answers = commands, answers
        self._session, self._number, self._rest = None, 0, b""
        self.told = []

    def open(self, url, width=1200):
        """A new page, in place of the one before."""
        self._session, self.told = None, []
        target = self.call("Target.createTarget", url="about:blank")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        self.call("Runtime.enable")
        self.resize(width)
        self.call("Page.navigate", url=url)

    def resize(self, width):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "result" in answer, answer
                return answer["result"]
            if answer["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                self.told.append(answer["params"])

    def _next(self):
        while b"\0" not in self._rest:
            part = os.read(self._answers, 1 << 16)
            assert part, "the browser has ended"
            self._rest += part
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def run(self, script):
        """The value of a JavaScript expression."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script, seconds=60):
        """Until an expression is true; the page may be loading yet."""
        end = time.monotonic() + seconds
        safe = f"(() => {{ try {{ return Boolean({script}) }} catch {{ return false }} }})()"
        while not self.run(safe):
            assert time.monotonic() < end, (script, self.run("document.body.innerText"), self.told)
            time.sleep(0.05)


@contextmanager
def browser(folder):
    """A browser that keeps its profile in `folder`."""
    read_commands, commands = os.pipe()
    answers, write_answers = os.pipe()
    pipes = str(read_commands), str(write_answers)
    command = [sys.executable, "-c", LAUNCH, *pipes, CHROMIUM, *QUIET]
    command.append(f"--user-data-dir={folder}")
    process = subprocess.Popen(
        command, pass_fds=(read_commands, write_answers), stderr=subprocess.DEVNULL
    )
    os.close(read_commands)
    os.close(write_answers)
    try:
        yield Browser(commands, answers)
    finally:
        os.close(commands)  # it ends when nobody steers it any more
        process.wait(60)
        os.close(answers)
