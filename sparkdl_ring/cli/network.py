"""The demo's network: an embedding for each category beside the numbers, then two hidden layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch

_HIDDEN = (128, 64)
_DROPOUT = 0.2
_MAX_WIDTH = 12


class FlightNet(torch.nn.Module):
    """Gives the log-odds of a late arrival.

    Args:
        sizes: Number of codes of each category.
        num_numbers: Number of numeric features.
    """

    def __init__(self, sizes: Sequence[int], num_numbers: int) -> None:
        super().__init__()
        widths = [min(_MAX_WIDTH, size // 2 + 1) for size in sizes]
        tables = [torch.nn.Embedding(size, width) for size, width in zip(sizes, widths, strict=True)]
        self.tables = torch.nn.ModuleList(tables)
        layers: list[torch.nn.Module] = []
        before = sum(widths) + num_numbers
        for width in _HIDDEN:
            layers += [torch.nn.Linear(before, width), torch.nn.ReLU(), torch.nn.Dropout(_DROPOUT)]
            before = width
        self.head = torch.nn.Sequential(*layers, torch.nn.Linear(before, 1))

    def forward(self, codes_BC: torch.Tensor, numbers_BN: torch.Tensor) -> torch.Tensor:  # noqa: N803
        """Log-odds by row: batch B, categories C, numbers N."""
        index = codes_BC.long()
        embedded = [table(index[:, column]) for column, table in enumerate(self.tables)]
        odds: torch.Tensor = self.head(torch.cat([*embedded, numbers_BN], dim=1))
        return odds
