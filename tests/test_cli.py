import json
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


def test_a_small_demo_trains_prints_its_table_and_writes_its_report(tmp_path):
    out = tmp_path / "demo"
    done = run("demo", "--out", out, "--epochs", 2, "--num-train", 40, "--seeds", 0, 1)
    assert done.returncode == 0, done.stderr
    assert "soft crop" in done.stdout
    assert str(out / "report.html") in done.stdout
    results = json.loads((out / "results.json").read_text())
    assert [run["seed"] for run in results["arms"][2]["runs"]] == [0, 1]
    assert results["settings"]["command"] == "softaug demo --seeds 0 1 --epochs 2 --num-train 40"
    assert "<svg" in (out / "report.html").read_text()


def test_a_bad_value_is_one_line_and_code_2_before_any_work(tmp_path):
    refused = run("demo", "--out", tmp_path / "demo", "--sigma", -1)
    assert refused.returncode == 2
    assert refused.stderr.strip().splitlines()[-1].startswith("demo: sigma must be > 0")
    assert not (tmp_path / "demo").exists()


def test_an_unknown_option_is_refused():
    refused = run("demo", "--sgima", 0.1)
    assert refused.returncode == 2
    assert "--sigma" in refused.stdout + refused.stderr


def test_an_unknown_suite_is_told_the_nearest():
    refused = run("bench", "crops")
    assert refused.returncode == 2
    assert "did you mean 'crop'?" in refused.stderr


def test_without_the_lab_extra_the_command_says_what_to_install():
    code = "import sys; sys.modules['tyro'] = None; import softaug.lab.cli"
    refused = run(code=code)
    assert refused.returncode == 1
    assert "pip install 'softaug[lab]'" in refused.stderr
