"""`python -m rebasekit`."""

import sys

from rebasekit.cli import main

sys.exit(main())
