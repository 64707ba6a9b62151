"""Machines made of Linux namespaces: bubblewrap makes one, nsenter enters it."""
