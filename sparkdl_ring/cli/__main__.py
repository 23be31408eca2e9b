"""``python -m sparkdl_ring.cli``."""

from __future__ import annotations

import sys

from sparkdl_ring.cli.main import main

sys.exit(main())
