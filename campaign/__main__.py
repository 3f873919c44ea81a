"""python -m campaign --budget MINUTES --seed S: all five parts, then one table.

The same seed draws the same attempts in the same order; how many there are depends on the budget
and the machine. `--parts damage --only 17` repeats one attempt.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
TESTS = Path(__file__).resolve().parent.parent / "tests" / "lab"
sys.path[:0] = [str(TESTS / "training"), str(TESTS / "data"), str(TESTS / "reproduce"), str(TESTS)]


def main() -> None:
    """Run the parts that are asked for and write the table; code 1 if anything failed."""
    from campaign import api, damage, environment, files, signals
    from campaign.attempts import Part, Tally, run_part

    parts: list[Part] = [module.PART for module in (signals, damage, environment, api, files)]
    names = [part.name for part in parts]
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("--budget", type=float, default=60, help="minutes, for all parts together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", nargs="+", choices=names, default=names)
    parser.add_argument("--only", type=int, help="the number of one attempt")
    parser.add_argument("--out", type=Path, default=Path("softaug-campaign"))
    chosen = parser.parse_args()
    wanted = [part for part in parts if part.name in chosen.parts]
    total = sum(part.share for part in wanted)
    tallies: dict[str, Tally] = {}
    begun = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    chosen.out.mkdir(parents=True, exist_ok=True)
    for part in wanted:
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # spares the disk
        folder = Path(tempfile.mkdtemp(prefix=f"campaign-{part.name}-", dir=memory))
        seconds = 60 * chosen.budget * part.share / total
        print(f"{part.name}: {seconds / 60:.1f} minutes", flush=True)
        tallies[part.name] = run_part(part, chosen.seed, seconds, folder / "work", chosen.only)
        if not tallies[part.name].failed:
            shutil.rmtree(folder, ignore_errors=True)
        write_table(wanted, tallies, chosen, begun)
    print((chosen.out / "campaign.md").read_text())
    sys.exit(any(tally.failed for tally in tallies.values()))


def write_table(parts: list, tallies: dict, chosen: argparse.Namespace, begun: str) -> None:  # type: ignore[type-arg]
    """Write campaign.md and campaign.json, as far as the parts are done."""
    command = f"python -m campaign --budget {chosen.budget:g} --seed {chosen.seed}"
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, cwd=TESTS).stdout.strip()
    rows = [
        "| part | tried | target | survived | failed attempts | minutes |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    kinds, failures = [], []
    for part in parts:
        if part.name not in tallies:
            continue
        one = tallies[part.name]
        survived = one.tried - one.failed
        rows.append(
            f"| {part.name} ({part.unit}) | {one.tried:,} | {part.target:,} | {survived:,} | "
            f"{one.failed:,} | {one.seconds / 60:.1f} |"
        )
        counts = ", ".join(f"{name} {num:,}" for name, num in sorted(one.kinds.items()))
        kinds.append(f"- {part.name}: {one.attempts:,} attempts; {counts}")
        failures += one.failures
    text = [f"{begun}, commit {commit}, `{command}`", "", *rows, "", *kinds]
    text += ["", *(f"```text\n{failure}\n```" for failure in failures)]
    (chosen.out / "campaign.md").write_text("\n".join(text) + "\n")
    content = {"begun": begun, "commit": commit, "command": command}
    content |= {"parts": {name: asdict(tally) for name, tally in tallies.items()}}
    (chosen.out / "campaign.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
