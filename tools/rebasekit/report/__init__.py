"""One report of a rebase, for a terminal, a pull request or a program."""
