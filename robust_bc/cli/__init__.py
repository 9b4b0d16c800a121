"""The command line: finds the commands of all packages, and has those of the learners."""
