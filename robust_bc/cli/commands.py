"""The commands of the learners, and how those of all packages are found."""

from __future__ import annotations

import functools

from robust_bc.system.plugins import plugins

GROUP = "robust_bc.commands"
"""Entry points of this group are dicts from a command to its `module:function`, which is called with the arguments and
is `run` where it has no name, and a line of help. Their names are the headings of the help."""

Commands = dict[str, tuple[str, str]]

COMMANDS: Commands = {
    "audit": ("robust_bc.cli.audit", "say which demonstrations of a dataset are bad: pairs, episodes, sources"),
    "methods": ("robust_bc.cli.methods", "list the methods that can be fitted"),
    "train": ("robust_bc.cli.train", "fit a policy to a dataset and keep the run in a folder"),
}
OWN = "learning"


@functools.cache
def find_commands() -> dict[str, Commands]:
    """Of each package, by the name of its entry point; our own first."""
    return {OWN: COMMANDS, **{entry.name: entry.load() for entry in plugins(GROUP) if entry.name != OWN}}
