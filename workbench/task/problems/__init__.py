"""Rules on a task's files: one module for each family, each rule certain of what it says."""
