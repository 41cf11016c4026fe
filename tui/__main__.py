"""`python -m perftui.tui`: the same as the command `perftui`."""

import sys

from perftui.tui.cli import main

sys.exit(main())
