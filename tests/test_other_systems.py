"""What Windows and macOS lack is hidden here: modules of Unix, and fork."""

import subprocess
import sys

HIDE = """
import importlib, os, pkgutil, sys, warnings
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "sched_getaffinity"):
    delattr(os, name)
warnings.simplefilter("ignore")  # filelock's, that it locks without fcntl
import softaug
for module in pkgutil.walk_packages(softaug.__path__, "softaug."):
    importlib.import_module(module.name)
from softaug.lab.cli import run_command
run_command("train", ["digits-resnet8-soft", "--epochs", "1", "--out", sys.argv[1]])
run_command("export", [sys.argv[1], "--format", "state-dict"])
"""


def test_every_module_is_imported_and_a_run_trained_without_fcntl_and_fork(tmp_path):
    command = [sys.executable, "-c", HIDE, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "network.safetensors").exists()
