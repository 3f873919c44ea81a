"""ShakeDrop (Yamada et al. 2019): a residual branch that is sometimes shaken."""

import torch
from torch import Tensor, nn


class ShakeDrop(nn.Module):
    """Keep a branch whole with probability `keep`, else scale it by a random factor.

    The factor is even in (-1, 1) for the values and, independently, even in (0, 1) for the
    gradients, one for each sample; whether to keep is one draw for the batch. In evaluation
    the branch is scaled by the expected factor, which is `keep`.
    """

    def __init__(self, keep: float) -> None:
        super().__init__()
        self.keep = keep

    def forward(self, branch: Tensor) -> Tensor:
        if not self.training:
            return branch * self.keep
        kept = torch.rand((), device=branch.device) < self.keep
        forward = torch.where(kept, 1.0, 2 * self._draw(branch) - 1)
        backward = torch.where(kept, 1.0, self._draw(branch))
        # The value is forward * branch, the gradient is that of backward * branch.
        passed = backward * branch
        return passed + (forward * branch - passed).detach()

    def _draw(self, branch: Tensor) -> Tensor:
        shape = (len(branch), 1, 1, 1)
        return torch.rand(shape, dtype=branch.dtype, device=branch.device)

    def extra_repr(self) -> str:
        return f"keep={self.keep:g}"
