"""The command line as a user starts it."""

import sys

ENTRY = [sys.executable, "-c", "import sys; from perftui.tui.cli import main; sys.exit(main())"]
