"""Pairs of views by step number: the same samples and draws in any number of processes."""

from typing import NamedTuple

from torch import Tensor

from softaug.data.folder import FolderImages
from softaug.data.images import Source
from softaug.draws import DrawKey, send
from softaug.recipes.pretrain import PretrainRecipe, ViewsSpec
from softaug.training.processes import Processes
from softaug.training.steps import Steps
from softaug.training.stopwatch import Stopwatch
from softaug.transforms import TwoViews, Views
from softaug.transforms.two_views import view_key


class PairBatch(NamedTuple):
    """What one process gets of a step."""

    views: Views  # of uint8 images, with the box of each in its image
    sample: Tensor  # [B] places in the training set
    num_global: int  # pairs of this step in all processes
    unreadable: tuple[str, ...] = ()  # always none: a file that cannot be read is refused


class PairBatches(Steps[PairBatch]):
    """`batches[step]` is a pure function of the recipe, the step and the process's place."""

    recipe: PretrainRecipe

    def __init__(
        self, recipe: PretrainRecipe, source: Source, team: Processes, clock: Stopwatch
    ) -> None:
        super().__init__(recipe, len(source.labels), team, least=2)  # BatchNorm needs two
        self.source, self.clock = source, clock
        self.views = make_views(recipe.views, edge_of(source))

    def __getitem__(self, step: int) -> PairBatch:
        together = self.index(step)
        sample = together[self.rows(step)]
        index = send(sample, self.source.labels.device)
        key = DrawKey(self.recipe.seed, step // self.steps_per_epoch, index)
        views = self._views(index, key)
        self.clock.lap("augment")
        return PairBatch(views, sample, len(together))

    def _views(self, index: Tensor, key: DrawKey) -> Views:
        if isinstance(self.source, FolderImages):
            return windows_of_files(self.source, self.views, index, key)
        images = self.source.fetch(index)
        self.clock.lap("data")
        views: Views = self.views(images, key=key)
        return views


def windows_of_files(source: FolderImages, views: TwoViews, index: Tensor, key: DrawKey) -> Views:
    """Both views of image files, of which only what the views show is decoded.

    The same views as `views` gives for the whole images, but for a grey level and for JPEGs so
    large that they are decoded smaller.
    """
    cuts = [source.windows(index, views.crop, view_key(key, view)) for view in (0, 1)]
    first, second = (views.finish(cut.images, view, key) for view, cut in enumerate(cuts))
    return Views(first, second, *(cut.params.boxes for cut in cuts))


def make_views(spec: ViewsSpec, size: int) -> TwoViews:
    """The views of a recipe, `size` pixels an edge."""
    return TwoViews(
        size,
        spec.scale,
        spec.ratio,
        jitter=spec.jitter,
        jitter_p=spec.jitter_p,
        grey_p=spec.grey_p,
        flip_p=spec.flip_p,
    )


def edge_of(source: Source) -> int:
    """The edge of a source's square images."""
    if isinstance(source, FolderImages):
        return source.size
    return int(source.fetch(source.labels.new_zeros(1)).shape[-1])
