"""The training loop: steps, epochs, evaluations and checkpoints of any task."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from softaug.lab.progress import Show, print_plain, progress
from softaug.lab.recipes.config import Compute, EpochPlan, Optim
from softaug.lab.training import checkpoint
from softaug.lab.training.batches import SkippedFiles, Steps, stream
from softaug.lab.training.checkpoint import CHECKPOINTS
from softaug.lab.training.distributed import SINGLE, DistContext, Interruption, catch_signals
from softaug.lab.training.evaluate import in_precision
from softaug.lab.training.logging import (
    Losses,
    MetricBuffer,
    MetricLogger,
    NonFiniteLossError,
    Totals,
    profile_steps,
)
from softaug.lab.training.optim import (
    build_ema,
    build_optimizer,
    learning_rates,
    load_optimizer_state,
)
from softaug.lab.training.run_dir import TRACE, RunOptions, check_state
from softaug.lab.training.setup import (
    TrainingData,
    derive_seed,
    describe_images,
    fingerprint,
)

B = TypeVar("B")
FORMAT = 3  # of a checkpoint's state; 2 did not say of which run and of which pixels it is
LINE_SECONDS = 60  # without a terminal, a line at the end of each epoch and this often
MAX_LOG_INTERVAL = 10  # steps: each flush of the metrics waits for the device
MAX_LOG_SECONDS = 2  # several processes can stop only at a flush, and torchrun waits for 30


OnEpoch = Callable[[dict[str, float]], object]


class TrainConfig(EpochPlan, Protocol):
    """What a loop depends on: a recipe, or a part of one."""

    @property
    def optim(self) -> Optim: ...
    @property
    def compute(self) -> Compute: ...


class Task(ABC, Generic[B]):
    """What is learned: the network, its batches, their loss and its evaluation."""

    net: nn.Module
    model: Callable[..., Any]  # `net` as the trainer runs it: compiled, distributed, autocast
    batches: Steps[B]  # each batch has `sample` and `unreadable`
    train_metric: str  # name of what is watched beside the loss
    workers = 0  # processes that make batches ahead
    fused = True  # whether the optimizer takes its fused kernel, which rounds in its own way
    skips_files = False  # whether a file that cannot be read is named and left out

    @abstractmethod
    def loss(self, batch: B) -> Losses:
        """Compute the losses of a batch by `self.model`, without waiting for the device."""

    def evaluate(self, net: nn.Module) -> dict[str, float]:
        """Measure `net`, which is the average of the weights where there is one."""
        return {}

    def end_epoch(self) -> dict[str, float]:
        """Change what changes from epoch to epoch; return what to log of the one that ended."""
        return {}

    def finish(self, net: nn.Module) -> None:
        """Do what comes between the last step and the last evaluation of `net`."""

    def has_fixed_lr(self, name: str) -> bool:
        """Tell whether a parameter keeps the first learning rate to the end."""
        return False

    def lr_scale(self, name: str) -> float:
        """Return the factor of a parameter's learning rate."""
        return 1.0

    def set_train_mode(self) -> None:
        """Have the layers of `net` behave as in training."""
        self.net.train()

    def state_dict(self) -> dict[str, Any]:
        """Return what is learned beside the network; all processes call it together."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up what `state_dict` returned."""

    def file_hashes(self) -> dict[str, str]:
        """Return the sha256 of the files that the recipe names."""
        return {}

    @abstractmethod
    def describe(self, metric: float) -> str:
        """Describe the mean of the train metric."""

    def warn(self, metric: float) -> str:
        """Return a warning about an epoch by its train metric; mostly empty."""
        return ""

    def warnings(self) -> list[str]:
        """List what a user should know before training begins."""
        return []


class StoppedError(Exception):
    """The run was interrupted and has saved its state."""


class Trainer:
    """Trains a task; `state_dict` holds all that the next step depends on.

    With a `run_dir` it resumes, logs and saves there; without one it only trains. `on_epoch` is
    called, on rank zero, with the numbers of each row of metrics.jsonl: a logger of one's own.
    """

    def __init__(
        self,
        config: TrainConfig,
        data: TrainingData,
        task: Task[Any],
        *,
        context: DistContext = SINGLE,
        run_dir: Path | None = None,
        options: RunOptions | None = None,
        console: Console | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> None:
        self.config, self.data, self.task, self.context = config, data, task, context
        self.run_dir, self.options = run_dir, options or RunOptions()
        self.console = console or Console(quiet=True)
        self.on_epoch = on_epoch
        self.batches = task.batches
        self.images = describe_images(data)
        layout = torch.channels_last if config.compute.channels_last else torch.preserve_format
        self.net = task.net.to(context.device).to(memory_format=layout)
        self.ema = build_ema(self.net, config.optim.ema, context.device)
        task.model = in_precision(self._wrap(), context.device, config.compute.precision)
        self.optimizer = build_optimizer(
            config.optim, self.net, task.has_fixed_lr, task.fused, task.lr_scale
        )
        self.learning_rates = learning_rates(
            config.optim, config.epochs, self.batches.steps_per_epoch
        )
        self.identity: dict[str, str] = {}  # of the run in `run_dir`, as run.json has it
        self.scaler = torch.amp.GradScaler(
            context.device.type, enabled=config.compute.precision == "float16"
        )
        self.step = 0  # the next one
        self.totals = Totals()  # of this epoch
        self.last_epoch = Totals()
        self.seconds = 0.0  # spent in steps
        self.evaluated: dict[str, float] = {}  # after the last epoch
        self.rows: list[dict[str, Any]] = []  # of metrics.jsonl so far
        self.skipped = SkippedFiles(context)
        self.buffer = MetricBuffer(context)
        self.log_interval = 1  # steps between flushes of the buffer
        self.logger: MetricLogger | None = None

    def train(self) -> None:
        """Take all steps that are left."""
        total = self.config.epochs * self.batches.num
        signals = nullcontext(Interruption()) if self.run_dir is None else catch_signals()
        trace = self.run_dir if self.options.profile and self.context.is_rank_zero else None
        with (
            signals as interruption,
            progress(self.console, total, "images", self._images_seen()) as show,
            profile_steps(trace / TRACE if trace else None) as profiler,
        ):
            loader = stream(self.batches, self.step, self.task.workers)
            self._since, self._shown = time.perf_counter(), time.monotonic()
            try:
                while self.step < len(self.batches):
                    self.train_step(next(loader))
                    if profiler is not None:
                        profiler.step()
                    self._after_step(interruption, show)
            finally:
                del loader  # ends the workers now: at exit Python would wait for them for ever

    def train_step(self, batch: Any) -> None:
        """Take one step against the gradient of the batch's mean loss."""
        torch.manual_seed(derive_seed(self.config.seed, self.step, self.context.rank))  # dropout
        for group in self.optimizer.param_groups:
            lr = self.config.optim.lr if group["fixed_lr"] else self.learning_rates[self.step]
            group["lr"] = lr * group.get("lr_scale", 1.0)  # absent in earlier checkpoints
        self.task.set_train_mode()
        losses = self.task.loss(batch)
        self.optimizer.zero_grad()
        # Processes average their gradients: sum / num * world_size is the mean over all of them.
        mean = losses.losses.sum() * (self.context.world_size / losses.num)
        self.scaler.scale(mean).backward()  # type: ignore[no-untyped-call]
        if self.config.optim.clip_norm is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.net.parameters(), self.config.optim.clip_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.ema is not None:
            self.ema.update_parameters(self.net)
        self.skipped.note(batch.unreadable)
        self.buffer.add(self.step, batch.sample, losses)
        self.step += 1

    def state_dict(self) -> dict[str, Any]:
        """Return all that the next step depends on; all processes call it together."""
        ema = {} if self.ema is None else {"ema": self.ema.state_dict()}
        return {
            "format": FORMAT,
            "step": self.step,
            "totals": self.totals,
            "last_epoch": self.last_epoch,
            "seconds": self.seconds,
            "skipped": self.skipped.files,
            "rows": self.rows,
            "run": self.identity,
            "data": self.fingerprint,
            "images": self.images,
            "files": self.task.file_hashes(),
            "machine": self._machine(),
            "model": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "task": self.task.state_dict(),
            **ema,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up what `state_dict` returned."""
        self.step, self.seconds = state["step"], state["seconds"]
        self.totals, self.last_epoch = Totals(*state["totals"]), Totals(*state["last_epoch"])
        self.skipped.files, self.rows = list(state["skipped"]), list(state["rows"])
        self.net.load_state_dict(state["model"])
        load_optimizer_state(self.optimizer, state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.task.load_state_dict(state["task"])
        if self.ema is not None:
            self.ema.load_state_dict(state["ema"])

    def resume(self) -> None:
        """Load the last checkpoint of the run directory, if there is one."""
        state = self.context.run_on_rank_zero(self._read_checkpoint)
        if state is not None:
            self.load_state_dict(state)
        for warning in self.task.warnings():
            self._print(warning)
        if self.context.is_rank_zero:
            assert self.run_dir is not None
            self.logger = MetricLogger(self.run_dir, self.rows, self._print)

    def finalize(self) -> dict[str, float]:
        """Evaluate if the last epoch was not evaluated here, and close the log."""
        self.evaluated = self.evaluated or self._evaluate()
        if self.logger is not None:
            self.logger.close()
        return self.evaluated

    def sync_batchnorm_buffers(self) -> None:
        """Give every process the BatchNorm statistics of rank zero, which are what is saved."""
        for net in dict.fromkeys((self.net, self.eval_net)):  # one order in all processes
            for statistics in net.buffers():
                self.context.broadcast(statistics)

    def check_finite(self) -> None:
        """Refuse weights and moments that are not finite: in all processes, or in none."""
        self.sync_batchnorm_buffers()
        moments = [value for state in self.optimizer.state.values() for value in state.values()]
        tensors = [*self.net.state_dict().values(), *self.eval_net.state_dict().values(), *moments]
        finite = [
            tensor.isfinite().all().to(self.context.device)
            for tensor in tensors
            if isinstance(tensor, Tensor) and tensor.is_floating_point()
        ]
        if not bool(torch.stack(finite).all()):  # waits for the device once
            broken = f"train: weights must be finite, got others after step {self.step}"
            raise self._explain(NonFiniteLossError(broken))

    @property
    def eval_net(self) -> nn.Module:
        """The network to evaluate: the average of the weights where there is one."""
        return self.net if self.ema is None else self.ema.module

    def _wrap(self) -> nn.Module:
        net = self.net
        if self.config.compute.compile:
            # Static shapes: with dynamic ones, the kernels would depend on where a run began.
            net = torch.compile(net, dynamic=False)  # type: ignore[assignment]
        if self.context.world_size == 1:
            return net
        return DistributedDataParallel(
            net,
            device_ids=[self.context.device] if self.context.device.type == "cuda" else None,
            gradient_as_bucket_view=True,
            broadcast_buffers=False,  # `sync_batchnorm_buffers` does, when they are used
        )

    def _after_step(self, interruption: Interruption, show: Show) -> None:
        every = self.options.checkpoint_steps
        ends_epoch = self.step % self.batches.steps_per_epoch == 0
        save_due = every is not None and self.step % every == 0
        # Several processes must agree on the step first.
        stop_now = self.context.world_size == 1 and interruption.requested
        if not (ends_epoch or save_due or stop_now or len(self.buffer) >= self.log_interval):
            return
        stop = self._flush(interruption.requested)
        quiet = not self.console.is_terminal and time.monotonic() - self._shown < LINE_SECONDS
        if ends_epoch or not quiet:
            show(self._images_seen(), self._progress_note())
            self._shown = time.monotonic()
        if ends_epoch:
            self._end_epoch()
        if ends_epoch or save_due or stop:
            self._save()
        if stop:
            raise StoppedError(
                f"stopped after step {self.step} of {len(self.batches)}, saved in {self.run_dir}; "
                "run the same command to go on"
            )
        self._since = time.perf_counter()  # evaluating and saving is not training

    def _flush(self, stop: bool) -> bool:
        """Sum up the last steps; return whether any process wants to stop."""
        seconds = time.perf_counter() - self._since
        try:
            self.totals, stop, pace = self.buffer.flush(stop, seconds, self.totals)
        except NonFiniteLossError as broken:
            raise self._explain(broken) from None
        self.log_interval = max(1, min(MAX_LOG_INTERVAL, int(MAX_LOG_SECONDS / max(pace, 1e-9))))
        self.seconds += time.perf_counter() - self._since
        self._since = time.perf_counter()
        if self.task.skips_files:
            for file in self.skipped.share():
                self._print(f"skipped a file that cannot be read: {file}")
        return stop

    def _end_epoch(self) -> None:
        epoch = self.step // self.batches.steps_per_epoch
        self.sync_batchnorm_buffers()
        logged = self.task.end_epoch()
        if epoch == self.config.epochs:
            self.task.finish(self.eval_net)
        self.last_epoch, self.totals = self.totals, Totals()
        if self.run_dir is None:
            return
        row: dict[str, Any] = {
            "step": self.step,
            "epoch": epoch,
            "lr": self.learning_rates[self.step - 1],
            "train_loss": self.last_epoch.mean_loss,
            f"train_{self.task.train_metric}": self.last_epoch.mean_metric,
            "seconds": round(self.seconds, 3),
            **logged,
        }
        if epoch % self.options.evaluate_epochs == 0 or epoch == self.config.epochs:
            self.evaluated = self._evaluate()
            for name, value in self.evaluated.items():
                row[name if name.startswith("train_") else f"{self.data.split}_{name}"] = value
        if self.task.skips_files:
            row["num_skipped"] = len(self.skipped.files)
        if warning := self.task.warn(self.last_epoch.mean_metric):
            self._print(f"epoch {epoch}: {warning}")
            row["warning"] = warning
        self.rows.append(row)
        if self.logger is not None:
            self.logger.log(row)
            if self.on_epoch is not None:
                self.on_epoch({name: row[name] for name in row if name != "warning"})

    def _evaluate(self) -> dict[str, float]:
        self.check_finite()
        return self.task.evaluate(self.eval_net)

    def _save(self) -> None:
        if self.run_dir is None:
            return
        self.check_finite()
        state, folder = self.state_dict(), self.run_dir / CHECKPOINTS
        self.context.run_on_rank_zero(lambda: checkpoint.save(folder, self.step, state))

    def _read_checkpoint(self) -> dict[str, Any] | None:
        """Read and check the last checkpoint, on rank zero."""
        assert self.run_dir is not None
        newest = checkpoint.newest(self.run_dir / CHECKPOINTS, self._print)
        if newest is None:
            return None
        state = newest.state
        expected = {
            "format": FORMAT,
            "run": self.identity,
            "data": self.fingerprint,
            "files": self.task.file_hashes(),
        }
        check_state(self.run_dir, newest.path.name, state, expected)
        self._print(f"going on from step {state['step']} of {len(self.batches)}")
        for name, now in self._machine().items():
            before = state["machine"][name]
            if before != now:
                self._print(
                    f"{name} was {before}, is {now}: the result will agree with that of an "
                    "unbroken run only roughly, not to the bit"
                )
        return state

    def _machine(self) -> dict[str, Any]:
        """Return what may change the last bits."""
        return {
            "processes": self.context.world_size,
            "threads": torch.get_num_threads(),
            "device": self.context.device.type,
            "torch": str(torch.__version__),
        }

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """What identifies these images."""
        return fingerprint(self.data)

    def _images_seen(self) -> int:
        epoch, step = divmod(self.step, self.batches.steps_per_epoch)
        return epoch * self.batches.num + min(step * self.config.batch, self.batches.num)

    def _progress_note(self) -> str:
        epoch = -(-self.step // self.batches.steps_per_epoch)
        return (
            f"epoch {epoch}/{self.config.epochs}  loss {self.totals.mean_loss:.3f}  "
            f"{self.task.describe(self.totals.mean_metric)}"
        )

    def _print(self, text: str) -> None:
        print_plain(self.console, text)

    def _explain(self, broken: NonFiniteLossError) -> NonFiniteLossError:
        if self.run_dir is None:
            return broken
        saved = checkpoint.steps(self.run_dir / CHECKPOINTS)
        last = saved[-1] if saved else "none yet"
        return NonFiniteLossError(
            f"{broken}; last good checkpoint: {last}; begin a new run with a smaller optim.lr, "
            "or with optim.clip_norm"
        )
