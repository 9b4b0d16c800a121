"""The commands that compare methods."""

COMMANDS = {
    "quickstart": (
        "robust_bc_benchmarks.commands.quickstart",
        "compare the methods on corrupt demonstrations: a table and a page",
    ),
    "benchmark synthetic": (
        "robust_bc_benchmarks.commands.regression:run_synthetic",
        "the paper's synthetic tables and figures",
    ),
    "benchmark mujoco": (
        "robust_bc_benchmarks.commands.control:run_mujoco",
        "returns against shares of corrupt demonstrations",
    ),
    "benchmark driving": (
        "robust_bc_benchmarks.commands.control:run_driving",
        "collisions against shares of careless demonstrations",
    ),
    "benchmark housing": (
        "robust_bc_benchmarks.commands.regression:run_housing",
        "errors on Boston house prices, some of them wrong",
    ),
    "benchmark audit": (
        "robust_bc_benchmarks.commands.audit",
        "how well bad episodes are found, and what that is worth",
    ),
    "benchmark ablation": (
        "robust_bc_benchmarks.commands.regression:run_ablation",
        "what each part of ChoiceNet is worth",
    ),
}
