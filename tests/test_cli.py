import subprocess
import sys


def run(*arguments, code=None):
    start = ["-c", code] if code else ["-m", "softaug"]
    command = [sys.executable, *start, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_help_names_the_commands():
    shown = run("--help")
    assert shown.returncode == 0
    assert "demo" in shown.stdout
    assert "bench" in shown.stdout


def test_a_bad_value_is_one_line_and_code_2_before_any_work(tmp_path):
    refused = run("reproduce", "table1", "--out", tmp_path / "out", "--seeds", 0)
    assert refused.returncode == 2
    assert refused.stderr.strip().splitlines()[-1].startswith("reproduce: seeds must be a whole")
    assert not (tmp_path / "out").exists()


def test_an_unknown_option_is_refused():
    refused = run("demo", "--fulll")
    assert refused.returncode == 2
    assert "--full" in refused.stdout + refused.stderr


def test_an_unknown_suite_is_told_the_nearest():
    refused = run("bench", "crops")
    assert refused.returncode == 2
    assert "did you mean 'crop'?" in refused.stderr


def test_without_the_lab_extra_the_command_says_what_to_install():
    code = "import sys; sys.modules['tyro'] = None; import softaug.lab.cli"
    refused = run(code=code)
    assert refused.returncode == 1
    assert "pip install 'softaug[lab]'" in refused.stderr
