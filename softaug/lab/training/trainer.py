"""What a run does in its steps: the part of training that depends on what is learned."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from rich.console import Console
from torch import Tensor

from softaug.checks import NotFiniteError, refuse
from softaug.lab.progress import Show, progress
from softaug.lab.recipes.config import AnyRecipe
from softaug.lab.training import checkpoint
from softaug.lab.training.batches import Steps, derive_seed, stream
from softaug.lab.training.distributed import DistContext, init_distributed
from softaug.lab.training.logging import Stopwatch, Tracker
from softaug.lab.training.optim import Descent, load_tensors
from softaug.lab.training.run_dir import (
    CHECKPOINTS,
    RunOptions,
    check_recipe,
    describe_result,
    locked,
    read_result,
    save_recipe,
    save_result,
)
from softaug.lab.training.setup import (
    TrainingData,
    fingerprint,
    load_data,
    num_workers,
    prepare_machine,
)
from softaug.lab.training.signals import Interruption, interruption

L = TypeVar("L", bound=Descent)


class Job(ABC, Generic[L]):
    """The images of a recipe, its batches and its learner."""

    batches: Steps[Any]  # each has `sample` and `unreadable`
    learner: L
    files: dict[str, str]  # sha256 of the files that the recipe names
    other: str  # name of what is watched beside the loss

    def __init__(self, recipe: AnyRecipe, options: RunOptions, team: DistContext) -> None:
        self.recipe, self.team = recipe, team
        self.data: TrainingData = load_data(recipe, options.data_dir)
        self.workers = num_workers(options, self.data.train)
        self.clock = Stopwatch(team.device)

    @abstractmethod
    def learn(self, step: int, batch: Any) -> Tensor:
        """One step; each sample's loss and what else is watched, [B, 2], without waiting."""

    @abstractmethod
    def measure(self) -> dict[str, Any]:
        """What the network makes of images that it was not trained on."""

    def next_epoch(self) -> dict[str, float]:
        """Change what changes from one epoch to the next; what to keep of the one that ended."""
        self.learner.next_epoch()
        return {}

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds beside tensors; all processes call it together."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""

    def note_epoch(self, other: float) -> str:
        """A warning about the epoch that ended, by the mean of what was watched; mostly none."""
        return ""

    @abstractmethod
    def describe(self, other: float) -> str:
        """What is watched beside the loss, in words."""

    def warnings(self) -> list[str]:
        """What one should know before it begins."""
        return []


class Totals(NamedTuple):
    """Sums over the images of an epoch so far, in all processes."""

    loss: float = 0.0
    other: float = 0.0  # what a job watches beside the loss, such as wrong answers
    images: int = 0

    @property
    def mean_loss(self) -> float:
        return self.loss / max(self.images, 1)

    @property
    def mean_other(self) -> float:
        return self.other / max(self.images, 1)

    def __add__(self, other: "Totals") -> "Totals":  # type: ignore[override]
        return Totals(self.loss + other.loss, self.other + other.other, self.images + other.images)


_NOTHING = Totals()


class NonFiniteLossError(NotFiniteError):
    """Training broke down, in all processes alike."""

    told = True  # by the first


class Window:
    """Collects `learner.step`'s findings; `close` sums them up over all processes."""

    def __init__(self, team: DistContext) -> None:
        self.team = team
        self._entries: list[tuple[int, Tensor, Tensor]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, step: int, index: Tensor, found: Tensor) -> None:
        """Keep the losses and what else is watched, [B, 2], of this process's samples."""
        self._entries.append((step, index, found))

    def close(
        self, stop: bool, seconds: float = 0.0, before: Totals = _NOTHING
    ) -> tuple[Totals, bool, float]:
        """(sums, whether any process wants to stop, their mean `seconds` for a step).

        Steps are added to `before` one by one: the sum does not depend on where windows end.
        A loss that is no number is an error.
        """
        entries, self._entries = self._entries, []
        found = torch.cat([entry[2] for entry in entries]).cpu().double()
        sizes = [len(entry[1]) for entry in entries]
        sums = [part.sum(0) for part in found.split(sizes)]  # type: ignore[no-untyped-call]
        table = torch.stack([*sums, torch.tensor([float(stop), seconds]).double()])
        numbers = torch.tensor([*sizes, 0]).double()
        table = self.team.all_reduce(torch.cat([table, numbers[:, None]], dim=1))
        for (step, index, losses), row in zip(entries, table, strict=False):
            if not math.isfinite(row[0]):
                self._refuse(step, index, losses.cpu()[:, 0], float(row[0]))
        totals = before
        for loss, watched, num in table[:-1].tolist():
            totals = totals + Totals(loss, watched, int(num))
        pace = float(table[-1, 1]) / self.team.world_size / len(entries)
        return totals, bool(table[-1, 0] > 0), pace

    def _refuse(self, step: int, index: Tensor, losses: Tensor, value: float) -> None:
        parts = self.team.all_gather_object(index[~losses.isfinite()].tolist())
        samples = [sample for part in parts for sample in part]
        shown = ", ".join(map(str, samples[:20])) + (", ..." if len(samples) > 20 else "")
        raise NonFiniteLossError(
            f"train: the loss of every sample must be finite, got {value} at step {step} for "
            f"{len(samples)} samples: {shown}"
        )


class SkippedFiles:
    """Every file that any process skipped, as "PATH: reason", with the first reason found."""

    def __init__(self, team: DistContext) -> None:
        self.team = team
        self.files: list[str] = []
        self._lately: set[str] = set()  # in this process

    def __len__(self) -> int:
        return len(self.files)

    def note(self, files: Iterable[str]) -> None:
        """Remember what this process skipped."""
        self._lately.update(files)

    def share(self) -> list[str]:
        """What is new since the last time; all processes call this together."""
        parts, self._lately = self.team.all_gather_object(sorted(self._lately)), set()
        known, new = {*map(_path, self.files)}, []
        for file in sorted(file for part in parts for file in part):
            if _path(file) not in known:
                known.add(_path(file))
                new.append(file)
        self.files += new
        return new


def _path(file: str) -> str:
    return file.rpartition(": ")[0]


MakeJob = Callable[[Any, RunOptions, DistContext], Job[Any]]
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
    with init_distributed(options.device) as team:
        console = console if team.is_rank_zero else Console(quiet=True)
        prepare_machine(recipe, options)

        def finished() -> dict[str, Any] | None:
            check_recipe(folder, recipe)
            return read_result(folder)

        result = team.run_on_rank_zero(finished)
        if result is not None:
            console.print(f"{folder} is finished", highlight=False, soft_wrap=True)
            return result
        run = Run(make_job(recipe, options, team), options, team, console)
        with team.enter_on_rank_zero(locked(folder)):
            run.begin()
            run.go()
            return run.end()


class Run:
    """One run of a job: where it stands."""

    def __init__(
        self, job: Job[Any], options: RunOptions, team: DistContext, console: Console
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
        state = self.team.run_on_rank_zero(self._load)
        if state is not None:
            self.learner.share_state()
            self._restore(state)
        for warning in self.job.warnings():
            self._say(warning)
        if self.team.is_rank_zero:
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
        torch.manual_seed(derive_seed(self.recipe.seed, self.step, self.team.rank))  # dropout
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
            save_result(self.folder, result)
            return result

        return self.team.run_on_rank_zero(finish)

    def _after_step(self, noted: Interruption, show: Show) -> None:
        every = self.options.checkpoint_steps
        ends_epoch = self.step % self.batches.steps_per_epoch == 0
        due = every is not None and self.step % every == 0
        alone = self.team.world_size == 1 and noted.asked  # several must agree on the step first
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
        self.team.run_on_rank_zero(lambda: self.tracker.log(row))

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
        self.team.run_on_rank_zero(lambda: checkpoint.save(folder, self.step, tensors, state))

    def _load(self) -> dict[str, Any] | None:
        """In the first process: the tensors into the learner; the rest is returned."""
        check_recipe(self.folder, self.recipe)
        save_recipe(self.folder, self.recipe)
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
            "processes": self.team.world_size,
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
