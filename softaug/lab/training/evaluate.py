"""What a network makes of images it was not trained on."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from softaug.lab.data.images import Images, Source
from softaug.lab.training.batches import leave_signals
from softaug.lab.training.logging import num_cores
from softaug.lab.training.optim import Descent
from softaug.metrics import calibration_error, error, nll

CHUNK = 500  # images of CIFAR's size; fewer large ones
CHUNK_PIXELS = CHUNK * 32 * 32


class Chunks(Dataset[Tensor]):
    """The images of a source in stretches of about as many pixels."""

    def __init__(self, source: Source, first: int, last: int) -> None:
        self.source = source
        height, width = source.fetch(torch.zeros_like(source.labels[:1])).shape[-2:]
        num = max(8, min(CHUNK, CHUNK_PIXELS // (height * width)))
        self.parts = torch.arange(first, last).split(num)  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, place: int) -> Tensor:
        return self.source.fetch(self.parts[place].to(self.source.labels.device))


def chunks(source: Source, workers: int) -> Iterator[Tensor]:
    """The images of a source, about 500 of CIFAR's size at a time, in order."""
    stretches = Chunks(source, 0, len(source.labels))
    few = min(workers, len(stretches))
    return iter(DataLoader(stretches, batch_size=None, num_workers=few))


def workers_for(source: Source) -> int:
    """Processes that read ahead: a core each for files, none for images in memory."""
    return 0 if isinstance(source, Images) else num_cores()


def measure(learner: Descent, source: Source, workers: int) -> dict[str, Any]:
    """Error, NLL and calibration error (10 bins); processes share the images out."""
    logits = predict(learner, learner.measured, source, workers).float().cpu()
    labels = source.labels.cpu()
    return {
        "error": float(error(logits, labels)),
        "nll": float(nll(logits, labels)),
        "ece": float(calibration_error(logits.softmax(1), labels)),
    }


@torch.no_grad()
def predict(learner: Descent, net: nn.Module, source: Source, workers: int) -> Tensor:
    """What `net`, all of the learner's network or a part, makes of all images, [N, C].

    Every process has it; they share the images out.
    """
    team, num = learner.team, len(source.labels)
    learner.share_statistics()
    net.eval()
    first, last = (num * place // team.world_size for place in (team.rank, team.rank + 1))
    chunks = Chunks(source, first, last)
    loader = DataLoader(
        chunks,
        batch_size=None,
        num_workers=min(workers, len(chunks)),
        worker_init_fn=leave_signals,
    )
    parts = [learner.predict(images.to(team.device), net) for images in loader]
    mine = torch.cat(parts)
    everyone = mine.new_zeros(num, mine.shape[1])
    everyone[first:last] = mine
    return team.all_reduce(everyone)
