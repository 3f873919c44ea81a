"""What every soft transform does: draw, apply, report."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar, overload

import torch
from torch import Generator, Tensor, nn

from softaug.checks import (
    check_images,
    check_integers,
    check_share,
    check_within,
    describe,
    eager_on_cpu,
    is_float,
    refuse,
)
from softaug.draws import DrawKey, draw_uniforms, send
from softaug.label import SoftLabel
from softaug.pixels import get_tv_tensors, is_tv_tensor, wrap_like
from softaug.softening import compute_retained
from softaug.transforms.strength import (
    AUTO,
    Auto,
    Each,
    Index,
    Law,
    Paceable,
    Paced,
    check_each,
    look_up_class,
    look_up_each,
)

Labels = Tensor | int | SoftLabel
Power = float | Sequence[float] | Tensor | Each | Auto  # k: see `SoftTransform`
Strength = float | Tensor  # what is paceable: one number, or one for each sample [B]


class Params(Protocol):
    """Drawn parameters: one row for each image; `visible` is the share of it that is left."""

    @property
    def visible(self) -> Tensor: ...


P = TypeVar("P", bound=Params)


class SoftTransform(nn.Module, Generic[P], ABC):
    """Base of the soft transforms: `t(images, labels) -> (images, SoftLabel)`.

    Takes one image [C, H, W] with an int label, or a batch [B, C, H, W] with labels [B]
    (parameters are drawn for each sample); uint8 or float; any device. Labels may also be
    probabilities [C] or [B, C], as MixUp makes them, or 0 and 1 for each class of a multi-label
    problem. `k` is one number; one for each class, [C] (Eq. 11); a function of index [B] and label
    [B] that gives one for each sample, which needs a key; or "auto", which a `Pacer` sets. So is
    what is paceable.

    A subclass writes `_draw` (uniform numbers to parameters) and `_render` (a batch and its
    parameters to a batch), and has a `purpose` number of its own, so that its keyed draws differ
    from those of other transforms. `paceable` names the setting that a `Pacer` can change, and
    that a law (`Uniform`, `Mixture`) can draw for each image.
    """

    purpose: ClassVar[int]
    num_uniforms: ClassVar[int]
    paceable: ClassVar[Paceable | None] = None

    def __init__(self, k: Power) -> None:
        super().__init__()
        self.k = _check_power(self.name, k)

    @property
    def name(self) -> str:
        return type(self).__name__

    def forward(
        self,
        images: Tensor | tuple[Tensor, Labels],
        labels: Labels | None = None,
        *others: Any,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> tuple[Tensor, SoftLabel]:
        """Draw, apply and report in one go.

        A pair (images, labels) may come as one argument, as a sample does in `v2.Compose`.
        """
        batch, label = check_sample(self.name, images, labels, *others)
        _check_labels(self.name, batch, label)
        params = self.draw(batch, labels=label, generator=generator, key=key)
        return self._transform(batch, params), self.report(label, params, key=key)

    def draw(
        self,
        images: Tensor,
        *,
        labels: Labels | None = None,
        generator: Generator | None = None,
        key: DrawKey | None = None,
    ) -> P:
        """Draw parameters for each image, each [B] (B = 1 for one image); reads only the shape.

        `labels` are needed only where classes have strengths of their own.
        """
        check_images(self.name, images)
        uniform, strength = self._draw_numbers(images, labels, generator, key)
        drawn = self._draw(uniform, images.shape[-2], images.shape[-1], strength)
        return _send_params(drawn, images.device)

    @overload
    def apply(self, images: Tensor, params: P) -> Tensor: ...

    @overload
    def apply(self, images: Callable[[nn.Module], Any]) -> "SoftTransform[P]": ...

    def apply(self, images: Any, params: Any = None) -> Any:
        """Transform `images` by `params`; no randomness, so drawn parameters can be replayed.

        The images have the size that the parameters were drawn for.
        (With a function alone it is `nn.Module.apply`, which parents call on their children.)
        """
        if params is None and callable(images) and not isinstance(images, Tensor):
            return super().apply(images)
        check_images(self.name, images)
        if params is None:
            refuse(self.name, "apply needs the images and their drawn parameters", "no parameters")
        num = len(images) if images.ndim == 4 else 1
        if params.visible.shape != (num,):
            rule = f"apply needs parameters for each of the {num} images"
            refuse(self.name, rule, f"parameters for {params.visible.numel()}")
        return self._transform(images, _send_params(params, images.device))

    def _transform(self, images: Tensor, params: P) -> Tensor:
        # as_subclass breaks a compiled graph: only where there is a subclass
        plain = images.as_subclass(Tensor) if is_tv_tensor(images) else images
        batch = plain if plain.ndim == 4 else plain.unsqueeze(0)
        out = self._render(batch, params)
        out = out if images.ndim == 4 else out.squeeze(0)
        return wrap_like(out, images)

    def report(self, labels: Labels, params: P, *, key: DrawKey | None = None) -> SoftLabel:
        """Return the labels with what is left of them; a `SoftLabel` composes by multiplication.

        `key` is needed only where `k` is a function, which is asked with its index.
        """
        before = labels.retained if isinstance(labels, SoftLabel) else 1.0
        label = _get_classes(labels)
        retained = self._compute_retained(label, params, None if key is None else key.index)
        dense = isinstance(label, Tensor) and label.is_floating_point()
        if isinstance(label, Tensor) and label.ndim == 1 + dense:
            return SoftLabel(label, retained.float() * before)
        product = retained.item() * float(before)
        return SoftLabel(label if dense else operator.index(label), product)

    def _compute_retained(self, label: Tensor | int, params: P, index: Index) -> Tensor:
        """Return what is retained of each label, [B]."""
        visible = params.visible
        if isinstance(self.k, float):
            return compute_retained(visible, self.k)
        if isinstance(self.k, Paced):
            now = send(self.k.read(self.name, "k"), visible.device)
            return compute_retained(visible, now.to(visible.dtype).expand_as(visible))
        if isinstance(self.k, tuple):
            k = look_up_class(self.name, "k", self.k, label, like=visible)
        else:
            k = look_up_each(self.name, "k", self.k, index, label, like=visible)
        return compute_retained(visible, k)

    def _draw_numbers(
        self,
        images: Tensor,
        labels: Labels | None,
        generator: Generator | None,
        key: DrawKey | None,
    ) -> tuple[Tensor, Strength]:
        """Draw uniform numbers [B, num_uniforms], and read the paceable setting of these samples.

        It is 1 where there is none; a law takes one number more of each image.
        """
        value = getattr(self, self.paceable.name) if self.paceable else 1.0
        num = self.num_uniforms + isinstance(value, Law)
        uniform = draw_uniforms(self.name, images, num, self.purpose, generator, key)
        if isinstance(value, Law):
            return uniform[:, :-1], value.draw(uniform[:, -1])
        if isinstance(value, float):
            return uniform, value
        assert self.paceable is not None, "it has a paced setting"
        classes = None if labels is None else _get_classes(labels)
        index = None if key is None else key.index
        if isinstance(value, tuple):
            return uniform, look_up_class(
                self.name, self.paceable.name, value, classes, uniform[:, 0]
            )
        if not isinstance(value, Paced):
            each = look_up_each(self.name, self.paceable.name, value, index, classes, uniform[:, 0])
            return uniform, each.clamp(max=self.paceable.limit)
        inputs = {"class": classes, "sample": index}
        return uniform, value.look_up(self.name, self.paceable.name, inputs, uniform)

    @abstractmethod
    def _draw(self, uniform: Tensor, height: int, width: int, strength: Strength) -> P:
        """Turn uniform numbers [B, num_uniforms] into parameters for images of this size.

        `strength` is what the paceable setting is now.
        """

    @abstractmethod
    def _render(self, batch: Tensor, params: P) -> Tensor:
        """Transform the images [B, C, H, W] by `params`."""

    def extra_repr(self) -> str:
        settings = {n: v for n, v in vars(self).items() if n != "training" and n[0] != "_"}
        return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def check_sample(who: str, images: Any, labels: Any, *others: Any) -> tuple[Any, Any]:
    """Return images and labels, which may come as one pair; refuse anything beside them."""
    if labels is None and isinstance(images, tuple) and len(images) >= 2:
        images, labels, *others = images  # type: ignore[assignment]
    if labels is None:
        refuse(who, "images and their labels are needed", f"only a {type(images).__name__}")
    extra = [*others, *(part for part in (images, labels) if _is_annotation(part))]
    if extra:
        rule = "only images and their labels are transformed: boxes and masks would stay behind"
        remedy = (
            "use params = t.draw(images) and t.apply(images, params), and move boxes and masks by "
            "the offsets in params"
        )
        refuse(who, rule, f"a {type(extra[0]).__name__} too", remedy)
    return images, labels


def _is_annotation(part: Any) -> bool:
    """Tell whether it is torchvision's boxes, masks or keypoints, or a mapping that may be."""
    if isinstance(part, dict):
        return True
    return is_tv_tensor(part) and not isinstance(part, get_tv_tensors().Image)


def _get_classes(labels: Labels) -> Tensor | int:
    return labels.label if isinstance(labels, SoftLabel) else labels


def _check_labels(who: str, images: Tensor, labels: Any) -> None:
    check_images(who, images)
    label = _get_classes(labels)
    floating = isinstance(label, Tensor) and label.is_floating_point()
    dense = floating and label.ndim == images.ndim - 2  # type: ignore[union-attr]
    if isinstance(label, Tensor) and not dense:
        check_integers(who, "labels", label)
    if images.ndim == 3:
        one = label.ndim == 0 if isinstance(label, Tensor) else hasattr(label, "__index__")
        if not (dense or one):
            rule = "the label of one image must be an int or probabilities [C]"
            refuse(who, rule, describe(label))
        if isinstance(labels, SoftLabel):
            if isinstance(labels.retained, Tensor):
                _check_retained(who, images[:1, 0, 0], labels.retained.reshape(-1))
            else:
                check_share(who, "retained", labels.retained)
        return
    num = len(images)
    if not isinstance(label, Tensor) or label.shape[:1] != (num,) or label.ndim != 1 + dense:
        remedy = "pass a tensor of class indices [B] or of probabilities [B, C]"
        refuse(who, f"labels of {num} images must be [B]", describe(label), remedy)
    if isinstance(labels, SoftLabel):
        _check_retained(who, images, labels.retained)


def _check_retained(who: str, images: Tensor, retained: Any) -> None:
    """Refuse what was left of [B] images before that does not fit them, or is no share."""
    num = len(images)
    if not isinstance(retained, Tensor) or retained.shape != (num,):
        refuse(who, f"retained of {num} images must be [B]", describe(retained))
    if not is_float(retained) or retained.device != images.device:
        rule = f"retained must be floating point, on the images' device {images.device}"
        refuse(who, rule, f"{describe(retained)} on {retained.device}")
    if eager_on_cpu(retained):
        check_within(who, "retained", retained)


def _send_params(params: P, device: torch.device) -> P:
    """Move parameters to `device`."""
    if params.visible.device == device:
        return params
    return type(params)(*(send(values, device) for values in params))  # type: ignore[attr-defined]


def _check_power(who: str, k: Any) -> float | tuple[float, ...] | Each | Paced:
    if isinstance(k, str) and k == AUTO:
        return Paced()
    checked: float | tuple[float, ...] | Each = check_each(who, "k", k, infinite=True)
    return checked
