"""`python -m howdah` is the program `howdah`."""

import sys

from howdah.cli.main import main

sys.exit(main())
