"""The training loop, from the first step or from wherever a run stopped; a job says what of."""

import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console

from softaug.checks import refuse
from softaug.progress import Show, progress
from softaug.recipes.pretrain import AnyRecipe
from softaug.training import checkpoint
from softaug.training.descent import load_tensors
from softaug.training.interruption import Interruption, interruption
from softaug.training.job import Job
from softaug.training.options import RunOptions
from softaug.training.processes import Processes, processes
from softaug.training.result import describe_result
from softaug.training.run_folder import (
    CHECKPOINTS,
    check_recipe,
    keep_recipe,
    keep_result,
    locked,
    read_result,
)
from softaug.training.seeding import mix
from softaug.training.setup import fingerprint, prepare_machine
from softaug.training.skipped import SkippedFiles
from softaug.training.steps import stream
from softaug.training.tracking import Tracker
from softaug.training.window import NonFiniteLossError, Totals, Window

MakeJob = Callable[[Any, RunOptions, Processes], Job[Any]]
LINE_SECONDS = 60  # without a terminal, a line at the end of each epoch and this often
LOOK = 10  # steps between looks at the loss at most: each look waits for the device
LOOK_SECONDS = 2  # and seconds: several processes can stop only then, and torchrun waits for 30


class StoppedError(Exception):
    """The run was asked to stop and has saved where it stands."""


def run_job(
    recipe: AnyRecipe, options: RunOptions, console: Console, make_job: MakeJob
) -> dict[str, Any]:
    """Do the job of `recipe`, from the folder's last checkpoint if it has one; what came out.

    A finished run is only read. Under torchrun every process calls this.
    """
    folder = options.folder(recipe)
    with processes(options.device) as team:
        console = console if team.first else Console(quiet=True)
        prepare_machine(recipe, options)

        def finished() -> dict[str, Any] | None:
            check_recipe(folder, recipe)
            return read_result(folder)

        result = team.first_does(finished)
        if result is not None:
            console.print(f"{folder} is finished", highlight=False, soft_wrap=True)
            return result
        run = Run(make_job(recipe, options, team), options, team, console)
        with team.first_holds(locked(folder)):
            run.begin()
            run.go()
            return run.end()


class Run:
    """One run of a job: where it stands."""

    def __init__(
        self, job: Job[Any], options: RunOptions, team: Processes, console: Console
    ) -> None:
        self.job, self.options, self.team, self.console = job, options, team, console
        self.recipe, self.data, self.batches = job.recipe, job.data, job.batches
        self.learner, self.clock = job.learner, job.clock
        self.folder = options.folder(self.recipe)
        self.window = Window(team)
        self.look = 1  # steps in a window
        self.step = 0  # the next one
        self.totals = Totals()  # of this epoch
        self.last_epoch = Totals()
        self.seconds = 0.0  # spent in steps
        self.measured: dict[str, Any] = {}  # after the last epoch
        self.skipped = SkippedFiles(team)

    def begin(self) -> None:
        """Take up the last checkpoint, if there is one."""
        state = self.team.first_does(self._load)
        if state is not None:
            self.learner.share_state()
            self._restore(state)
        for warning in self.job.warnings():
            self._say(warning)
        if self.team.first:
            self.tracker = Tracker(self.folder, self.step)

    def go(self) -> None:
        """All steps that are left."""
        total = self.recipe.epochs * self.batches.num
        with (
            interruption() as noted,
            progress(self.console, total, "images", self._images_seen()) as show,
        ):
            coming = stream(self.batches, self.step, self.job.workers)
            self._since, self._shown = time.perf_counter(), time.monotonic()
            try:
                while self.step < len(self.batches):
                    self.clock.start(self.step)
                    self._learn(next(coming))
                    self._after_step(noted, show)
            finally:
                del coming  # ends the workers now: at exit Python would wait for them for ever

    def _learn(self, batch: Any) -> None:
        self.clock.lap("data")
        torch.manual_seed(mix(self.recipe.seed, self.step, self.team.rank))  # dropout
        found = self.job.learn(self.step, batch)
        self.skipped.note(batch.unreadable)
        self.window.add(self.step, batch.sample, found)
        self.step += 1

    def end(self) -> dict[str, Any]:
        """Measure and write the result."""
        measured = self.measured or self._measure()

        def finish() -> dict[str, Any]:
            self.tracker.close()
            result = describe_result(self, measured)
            keep_result(self.folder, result)
            return result

        return self.team.first_does(finish)

    def _after_step(self, noted: Interruption, show: Show) -> None:
        every = self.options.checkpoint_steps
        ends_epoch = self.step % self.batches.steps_per_epoch == 0
        due = every is not None and self.step % every == 0
        alone = self.team.count == 1 and noted.asked  # several must agree on the step first
        if not (ends_epoch or due or alone or len(self.window) >= self.look):
            return
        stop = self._look(noted.asked)
        quiet = not self.console.is_terminal and time.monotonic() - self._shown < LINE_SECONDS
        if ends_epoch or not quiet:
            show(self._images_seen(), self._note())
            self._shown = time.monotonic()
        if ends_epoch:
            self._end_epoch()
        if ends_epoch or due or stop:
            self._save()
        if stop:
            raise StoppedError(
                f"stopped after step {self.step} of {len(self.batches)}, saved in {self.folder}; "
                "run the same command to go on"
            )
        self._since = time.perf_counter()  # measuring and saving is not training

    def _look(self, stop: bool) -> bool:
        """Sum up the last steps; whether any process wants to stop."""
        seconds = time.perf_counter() - self._since
        try:
            self.totals, stop, pace = self.window.close(stop, seconds, self.totals)
        except NonFiniteLossError as broken:
            raise self._explain(broken) from None
        self.look = max(1, min(LOOK, int(LOOK_SECONDS / max(pace, 1e-9))))
        self.seconds += time.perf_counter() - self._since
        self._since = time.perf_counter()
        if self.recipe.data.unreadable == "skip":
            for file in self.skipped.share():
                self._say(f"skipped a file that cannot be read: {file}")
        return stop

    def _end_epoch(self) -> None:
        epoch = self.step // self.batches.steps_per_epoch
        ended = self.job.next_epoch()
        self.last_epoch, self.totals = self.totals, Totals()
        row: dict[str, Any] = {
            "step": self.step,
            "epoch": epoch,
            "lr": self.learner.lr,
            "train_loss": self.last_epoch.mean_loss,
            f"train_{self.job.other}": self.last_epoch.mean_other,
            "seconds": round(self.seconds, 3),
            **ended,
        }
        if epoch % self.options.evaluate_epochs == 0 or epoch == self.recipe.epochs:
            self.measured = self._measure()
            row |= {f"{self.data.split}_{name}": value for name, value in self.measured.items()}
        if self.recipe.data.unreadable == "skip":
            row["num_skipped"] = len(self.skipped)
        warning = self.job.note_epoch(self.last_epoch.mean_other)
        if warning:
            self._say(f"epoch {epoch}: {warning}")
            row["warning"] = warning
        self.team.first_does(lambda: self.tracker.log(row))

    def _measure(self) -> dict[str, Any]:
        self._check_weights()
        return self.job.measure()

    def _check_weights(self) -> None:
        """What is learned is the same in all processes, so all stop or none."""
        self.learner.share_statistics()
        if not self.learner.is_finite():
            broken = f"train: weights must be finite, got others after step {self.step}"
            raise self._explain(NonFiniteLossError(broken))

    def _save(self) -> None:
        self._check_weights()
        state = {
            "step": self.step,
            "totals": self.totals,
            "last_epoch": self.last_epoch,
            "seconds": self.seconds,
            "clock": self.clock.seconds,
            "scaler": self.learner.scaler.state_dict(),
            "machine": self._machine(),
            "data": fingerprint(self.data),
            "files": self.job.files,
            "skipped": self.skipped.files,
            "job": self.job.state(),
        }
        folder, tensors = self.folder / CHECKPOINTS, self.learner.tensors()
        self.team.first_does(lambda: checkpoint.save(folder, self.step, tensors, state))

    def _load(self) -> dict[str, Any] | None:
        """In the first process: the tensors into the learner; the rest is returned."""
        check_recipe(self.folder, self.recipe)
        keep_recipe(self.folder, self.recipe)
        found = checkpoint.newest(self.folder / CHECKPOINTS, self._say)
        if found is None:
            return None
        if found.state["data"] != fingerprint(self.data):
            rule = f"the images must be those that {self.folder} was begun with"
            refuse("train", rule, f"{fingerprint(self.data)}, not {found.state['data']}")
        if found.state["files"] != self.job.files:
            rule = f"the files of curves and prior must be those that {self.folder} was begun with"
            refuse("train", rule, self.job.files, "put them back, or choose another --out")
        load_tensors(self.learner, found.tensors)
        self._say(f"going on from step {found.state['step']} of {len(self.batches)}")
        for name, now in self._machine().items():
            before = found.state["machine"][name]
            if before != now:
                self._say(
                    f"{name} was {before}, is {now}: the result will agree with that of an "
                    "unbroken run only roughly, not to the bit"
                )
        return found.state

    def _restore(self, state: dict[str, Any]) -> None:
        self.step, self.seconds = state["step"], state["seconds"]
        self.totals, self.last_epoch = Totals(*state["totals"]), Totals(*state["last_epoch"])
        self.clock.seconds.update(state["clock"])
        self.skipped.files = state.get("skipped", [])  # runs begun before files were skipped
        self.learner.scaler.load_state_dict(state["scaler"])
        self.job.load_state(state.get("job", {}))  # runs begun before jobs had any

    def _machine(self) -> dict[str, Any]:
        """What may change the last bits."""
        return {
            "processes": self.team.count,
            "threads": torch.get_num_threads(),
            "device": self.team.device.type,
            "torch": str(torch.__version__),
        }

    def _images_seen(self) -> int:
        epoch, place = divmod(self.step, self.batches.steps_per_epoch)
        return epoch * self.batches.num + min(place * self.recipe.batch, self.batches.num)

    def _note(self) -> str:
        epoch = -(-self.step // self.batches.steps_per_epoch)
        return (
            f"epoch {epoch}/{self.recipe.epochs}  loss {self.totals.mean_loss:.3f}  "
            f"{self.job.describe(self.totals.mean_other)}"
        )

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True, markup=False)

    def _explain(self, broken: NonFiniteLossError) -> NonFiniteLossError:
        kept = checkpoint.steps(self.folder / CHECKPOINTS)
        last = kept[-1] if kept else "none yet"
        return NonFiniteLossError(
            f"{broken}; last good checkpoint: {last}; begin a new run with a smaller optim.lr, "
            "or with optim.clip_norm"
        )
