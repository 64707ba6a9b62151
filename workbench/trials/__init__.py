"""Runs through Harbor: environments over machines, agents, hooks, live output, outcomes."""
