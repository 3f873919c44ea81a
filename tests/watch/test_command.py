import re
import signal
import subprocess
import sys

import pytest
from hand_made import Client, serving

from softaug.watch.command import open_server


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"watch: FOLDER must be a folder, got .*x, which is not"):
        open_server(tmp_path / "x", 0)


def test_a_file_is_refused(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(ValueError, match=r"got .*x, a file; name the --out of"):
        open_server(tmp_path / "x", 0)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused(tmp_path, port):
    with pytest.raises(ValueError, match=rf"port must be in 0..65535, got {port}; 0 takes any"):
        open_server(tmp_path, port)


def test_a_port_that_is_taken_is_refused(tmp_path):
    with serving(tmp_path) as first, pytest.raises(ValueError, match="port must be free") as told:
        open_server(tmp_path, first.server_port)
    assert f"got {first.server_port} (Address already in use)" in str(told.value)
    assert "leave --port out" in str(told.value)


def test_the_command_serves_an_empty_folder_until_ctrl_c(tmp_path):
    command = [sys.executable, "-m", "softaug", "watch", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        told = process.stdout.readline()
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/ \(Ctrl-C ends it\)", told)[1])
        assert Client(port).json("/state.json")["runs"] == []
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "stopped\n")
