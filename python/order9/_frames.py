"""Arrays and data frames of what the extension module hands over as bytes or by the Arrow C data interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _order9

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def _map_to_numpy(self: _order9.Map) -> NDArray[np.uint8]:
    """The class of each frame by its pfn, without a copy; ``classes`` names the numbers."""
    import numpy as np

    return np.frombuffer(self.to_bytes(), dtype=np.uint8)


def _alloc_many(
    self: _order9.Engine, count: int, order: int = 0, gfp: str = "GFP_KERNEL", node: int = 0
) -> NDArray[np.uint64]:
    """Takes up to ``count`` blocks of ``2**order`` pages; the first frame of each, fewer where memory ended."""
    import numpy as np

    return np.frombuffer(self.alloc_bytes(count, order, gfp, node), dtype=np.uint64)


def _free_many(self: _order9.Engine, pfns: Any) -> int:
    """Frees the blocks that start at these frames; says how many."""
    import numpy as np

    return self.free_bytes(np.ascontiguousarray(pfns, dtype=np.uint64).tobytes())


def _to_pandas(self: _order9.Table) -> Any:
    """The rows as a pandas DataFrame, by way of pyarrow where that is installed."""
    import pandas as pd

    try:
        import pyarrow as pa
    except ImportError:
        return pd.DataFrame(self.to_pydict())
    return pa.table(self).to_pandas()


def _to_polars(self: _order9.Table) -> Any:
    """The rows as a polars DataFrame, without a copy."""
    import polars as pl

    return pl.DataFrame(self)


def _to_arrow(self: _order9.Table) -> Any:
    """The rows as a pyarrow Table, without a copy; DuckDB queries it by its name."""
    import pyarrow as pa

    return pa.table(self)


def attach() -> None:
    """Gives the classes of the extension module the methods that need other packages."""
    for owner, name, method in (
        (_order9.Map, "to_numpy", _map_to_numpy),
        (_order9.Engine, "alloc_many", _alloc_many),
        (_order9.Engine, "free_many", _free_many),
        (_order9.Table, "to_pandas", _to_pandas),
        (_order9.Table, "to_polars", _to_polars),
        (_order9.Table, "to_arrow", _to_arrow),
    ):
        method.__name__ = name
        setattr(owner, name, method)
