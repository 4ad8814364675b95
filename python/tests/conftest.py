"""What several tests start from."""

import os
from pathlib import Path

import pytest

import order9 as o9

#: Root of the repository, which holds captures of real hosts.
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def captures() -> Path:
    return Path(os.environ.get("ORDER9_CAPTURES", ROOT / "tests/data/captures"))


@pytest.fixture(scope="session")
def run() -> o9.Run:
    """Two policies, two seeds each, of a short workload."""
    return o9.run(
        "hugealloc",
        machine="desktop-8g",
        policy=["linux-6.18", "order9"],
        seeds=2,
        params={"size": "1G"},
        progress=False,
    )
