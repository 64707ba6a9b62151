"""Machines as microVMs, through the smolmachines SDK."""
