"""The commands around demonstrations: making, looking, cleaning, and what a policy that learned from them does."""

COMMANDS = {
    "tasks": ("robust_bc_demos.commands.tasks", "list the tasks, their metrics and what a reversed reward is"),
    "teachers": ("robust_bc_demos.commands.teachers", "list the experts, adversaries and drivers that ship"),
    "teach": ("robust_bc_demos.commands.teach", "train an expert or an adversary for any Gymnasium task with PPO"),
    "collect": ("robust_bc_demos.commands.collect", "roll a teacher out into a Minari dataset"),
    "drive": ("robust_bc_demos.commands.drive", "drive yourself, with the arrow keys, and get a dataset"),
    "mix": ("robust_bc_demos.commands.mix", "mix good demonstrations with an exact share of corrupt ones"),
    "datasets": ("robust_bc_demos.commands.datasets", "list the Minari datasets on this machine"),
    "show": ("robust_bc_demos.commands.show", "tell what is in a dataset (returns, histograms), or what a policy is"),
    "filter": ("robust_bc_demos.commands.filter", "drop what an audit found: a new dataset"),
    "evaluate": ("robust_bc_demos.commands.evaluate", "roll policies out: returns, metrics, intervals, a report"),
}
